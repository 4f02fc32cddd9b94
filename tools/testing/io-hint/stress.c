// SPDX-License-Identifier: GPL-2.0
/*
 * stress - all that can happen to disks and idle CPUs, at the same time
 *
 * usage: stress -s SEED -t SECONDS [-o DIR]
 *        stress -l <LOG
 *
 * The run consists of rounds.  In each of them, fio reads, writes and verifies
 * on every disk there is, while actors, one process each, do to the disks and
 * to the CPUs what an administrator or a broken cable would.  Then everything
 * comes to rest, and it is checked that
 *
 *  - no hint is pending, for any CPU and any class,
 *  - all classes and static keys are given back with the limits,
 *  - no CPU was seen in a state that a hint ruled out, or stuck in a shallow
 *    one (by the module lab_check),
 *  - an I/O that gets lost expires,
 *  - each knob has said what was written to it, and refused what is no number,
 *  - fio has read what it had written,
 *  - and the kernel has not complained.
 *
 * At the very end all disks go, and nothing may be left of them.
 *
 * What the actors do follows from the seed, but not what comes first: they and
 * the kernel run side by side.  DIR/actions has it in the order it happened.
 *
 * On a kernel without the hints, all the rest is done and checked.
 *
 * With -l, nothing is done: it is only looked for complaints in a kernel's log.
 *
 * Exit status: 0 if all is well, 1 if a check has failed, 2 if the run could
 * not be made.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define CPUS		"/sys/devices/system/cpu"
#define HINT		"/sys/kernel/debug/cpuidle_io_hint"
#define CHECK		"/sys/module/lab_check/parameters"
#define NULLB		"/sys/kernel/config/nullb"
#define TRACING		"/sys/kernel/tracing"
#define NVME		"/sys/bus/pci/drivers/nvme"
#define SCSI		"/sys/bus/pseudo/drivers/scsi_debug"

/* A request that is not done by then never will be: none may take 10 s. */
#define REST_S		90
#define PATIENCE_S	5
#define SETTLE_S	30
/* And the time that fio takes to start: see fio_start_s. */
#define ROUND_S		60
/* It takes debug kernels a while until something has happened. */
#define SHORT_ROUND_S	20
/* All disks and drivers go after so many rounds. */
#define ROUNDS_WITH_DISKS	3
#define IO_TIMEOUT_MS	2000
/* What is reported is what has ended when the round does. */
#define FIO_S		12

/*
 * Randomness: each process has a stream of its own, so that what it does next
 * does not depend on what others have done.
 */
static uint64_t rng;

static uint64_t rnd(void)
{
	uint64_t z = rng += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static unsigned int below(unsigned int n)
{
	return rnd() % n;
}

#define pick(array)	((array)[below(ARRAY_SIZE(array))])

/* What the processes share */

enum action {
	A_READ_WRITE, A_VERIFY, A_KNOB, A_BAD_KNOB, A_GOVERNOR, A_STATE,
	A_OFFLINE, A_ONLINE, A_SUSPEND, A_IRQ, A_ELEVATOR, A_NR_REQUESTS, A_NR_HW_QUEUES,
	A_NULLB, A_NULL_MODULE, A_SCSI_DELETE, A_SCSI_MODULE, A_VIRTIO_UNBIND,
	A_VIRTIO_MODULE, A_NVME_RESET, A_NVME_UNBIND, A_NVME_MODULE, A_TIMEOUT,
	A_REQUEUE, A_SCSI_FAULT, A_LOSE, NR_ACTIONS
};

static const char * const action_names[NR_ACTIONS] = {
	"fio: read and write", "fio: verify", "knob: write", "knob: refuse",
	"governor", "idle state", "CPU offline", "CPU online", "suspend",
	"irq affinity", "elevator", "nr_requests", "nr_hw_queues", "null_blk: again",
	"null_blk: module", "scsi: delete", "scsi: module", "virtio: unbind",
	"virtio: module", "nvme: reset", "nvme: unbind", "nvme: module",
	"fault: timeout", "fault: requeue", "fault: scsi", "fault: lost",
};

/* What is taken away at once */
enum device {
	D_KEEP, D_AGAIN, D_FAULT, D_PAIR, D_SCSI, D_VIRTIO, D_NVME, NR_DEVICES
};

/* What takes turns */
enum turn { T_GOVERNOR, T_SCSI, T_VIRTIO, T_NVME, T_FAULT, NR_TURNS };

/* The most disks that there are */
#define SLOTS		16

static struct shared {
	atomic_bool	stop;
	atomic_flag	scsi_busy;
	atomic_flag	queues_busy;
	atomic_flag	cpus_busy;
	atomic_flag	nvme_busy;
	atomic_uint	removals[NR_DEVICES];
	atomic_uint	turns[NR_TURNS];
	atomic_uint	jobs[SLOTS];
	atomic_uint	failures;
	atomic_uint	background;
	atomic_uint	done[NR_ACTIONS];
	atomic_uint	refused[NR_ACTIONS];
} *shared;

static char page[1 << 16];
static const char *out = "/out";
static bool patched;
static int nr_cpus;
static double fio_start_s;
static double pace;
static unsigned int round_nr;
static bool old_kernel;
static bool nvme_awake;
static bool log_only;
static uint64_t seed;
static struct timespec start;
static int actions_fd = -1;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec - start.tv_sec + (t.tv_nsec - start.tv_nsec) / 1e9;
}

static void nap(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

/* One line at a time, by whatever process: neither gets torn. */
static void vsay(int fd, const char *before, const char *fmt, va_list ap)
{
	char text[2048];
	int n, i;

	n = snprintf(text, sizeof(text), "%8.3f %s", now(), before);
	n += vsnprintf(text + n, sizeof(text) - n - 1, fmt, ap);
	if (n > (int)sizeof(text) - 2)
		n = sizeof(text) - 2;
	for (i = 0; i < n; i++) {
		if (text[i] == '\n')
			text[i] = '|';
	}
	text[n++] = '\n';
	if (write(fd, text, n) != n)
		exit(2);
}

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(STDOUT_FILENO, "", fmt, ap);
	va_end(ap);
}

static void __attribute__((format(printf, 1, 2))) note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(actions_fd, "", fmt, ap);
	va_end(ap);
}

static void __attribute__((format(printf, 1, 2), noreturn))
give_up(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(STDOUT_FILENO, "stress: ", fmt, ap);
	va_end(ap);
	exit(2);
}

/* Files of the kernel */

/* -errno, or 0 */
static int vput(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

#define put(text, ...)	({						\
	char path_[512];						\
	snprintf(path_, sizeof(path_), __VA_ARGS__);			\
	vput(path_, text);						\
})

/* Without the newline at the end; -errno, or how much it is */
static int vget(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	text[0] = 0;
	if (fd < 0)
		return -errno;
	while (n < size - 1 && (got = read(fd, text + n, size - 1 - n)) > 0)
		n += got;
	close(fd);
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = 0;
	return n;
}

#define get(text, ...)	({						\
	char path_[512];						\
	snprintf(path_, sizeof(path_), __VA_ARGS__);			\
	vget(path_, text, sizeof(text));				\
})

#define exists(...)	({						\
	char path_[512];						\
	snprintf(path_, sizeof(path_), __VA_ARGS__);			\
	access(path_, F_OK) == 0;					\
})

/* One after the other, as some are rarely done, and none may be left out. */
static unsigned int turn(enum turn whose, unsigned int n)
{
	return (seed + atomic_fetch_add(&shared->turns[whose], 1)) % n;
}

static void lock(atomic_flag *busy)
{
	while (atomic_flag_test_and_set(busy))
		nap(10);
}

static void unlock(atomic_flag *busy)
{
	atomic_flag_clear(busy);
}

/* A check has failed: keep what the trace has on it. */
static void __attribute__((format(printf, 1, 2))) fail(const char *fmt, ...)
{
	va_list ap;

	if (!atomic_fetch_add(&shared->failures, 1) && !log_only)
		put("0", TRACING "/tracing_on");
	va_start(ap, fmt);
	vsay(STDOUT_FILENO, "FAIL: ", fmt, ap);
	va_end(ap);
	va_start(ap, fmt);
	vsay(actions_fd, "FAIL: ", fmt, ap);
	va_end(ap);
}

/* An action was done, or refused, which may be all right. */
static void tally(enum action action, int ret, const char *what)
{
	atomic_fetch_add(ret ? &shared->refused[action] :
			       &shared->done[action], 1);
	note("%s: %s%s%s", action_names[action], what, ret ? ": " : "",
	     ret ? strerror(-ret) : "");
}

static int run(const char *fmt, ...)
{
	char command[512];
	va_list ap;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	status = system(command);
	return status == 0 ? 0 : -EIO;
}

/* The names in a directory that begin with a prefix, sorted */
static int names(const char *dir, const char *prefix, char (*name)[64], int max)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	if (!d)
		return 0;
	while (n < max && (e = readdir(d))) {
		if (e->d_name[0] != '.' &&
		    !strncmp(e->d_name, prefix, strlen(prefix)))
			snprintf(name[n++], 64, "%.63s", e->d_name);
	}
	closedir(d);
	qsort(name, n, 64, (int (*)(const void *, const void *))strcmp);
	return n;
}

static bool pick_name(const char *dir, const char *prefix, char *name)
{
	char all[64][64];
	int n = names(dir, prefix, all, ARRAY_SIZE(all));

	if (n)
		strcpy(name, all[below(n)]);
	return n > 0;
}

/* Disks */

static const struct slot {
	enum device	device;
	const char	*prefix;	/* of its name */
	int		nth;		/* of those with that prefix */
	bool		data;		/* has memory: can be verified */
	bool		clean;		/* no actor makes its I/O fail */
	int		offset_mb;	/* where its I/O begins */
} slots[] = {
	{ D_KEEP,	"keep",		0, true,  true },
	{ D_AGAIN,	"again",	0, true,  false },
	{ D_FAULT,	"fault",	0, false, false },
	{ D_PAIR,	"pair",		0, false, true },
	{ D_SCSI,	"sd",		0, true,  false },
	{ D_SCSI,	"sd",		1, true,  false, 32 }, /* same memory */
	{ D_VIRTIO,	"vd",		0, true,  false },
	{ D_NVME,	"nvme",		0, true,  false },
};

_Static_assert(ARRAY_SIZE(slots) <= SLOTS, "one counter of jobs each");

static bool find_disk(const struct slot *slot, char *disk)
{
	char all[8][64], path[128];
	struct stat st;

	if (names("/sys/block", slot->prefix, all, ARRAY_SIZE(all)) <=
	    slot->nth)
		return false;
	strcpy(disk, all[slot->nth]);
	snprintf(path, sizeof(path), "/dev/%s", disk);
	return !stat(path, &st) && S_ISBLK(st.st_mode);
}

static bool pick_disk(char *disk)
{
	return find_disk(&pick(slots), disk) &&
	       exists("/sys/block/%s/queue", disk);
}

/*
 * In every other round a device is not taken away, so that there is no excuse
 * for data that is not what was written.
 */
static bool stays(enum device device)
{
	return (round_nr + device) % 2;
}

/*
 * Disks come back some time after their driver has.  Requests that they lose are
 * to be found before the round ends.
 */
static void settle(enum device device)
{
	double deadline = now() + SETTLE_S;
	char disk[64], ms[16];
	unsigned int i;

	snprintf(ms, sizeof(ms), "%d", IO_TIMEOUT_MS);
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		if (slots[i].device != device)
			continue;
		while (!find_disk(&slots[i], disk)) {
			if (now() > deadline) {
				fail("disk %d called %s... does not come back",
				     slots[i].nth, slots[i].prefix);
				run("ls -l /sys/block /dev >%s/disks", out);
				return;
			}
			nap(20);
		}
		if (!slots[i].clean)
			put(ms, "/sys/block/%s/queue/io_timeout", disk);
	}
}

static int nullb(const char *name, const char *attribute, unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return put(text, NULLB "/%s/%s", name, attribute);
}

/* A null block device in one of its many forms; with data, it is blocking. */
static int nullb_on(const char *name, bool data)
{
	static const unsigned int depths[] = { 1, 4, 64 };
	bool again = !strcmp(name, "again");
	bool shared_tags = !strcmp(name, "pair") ||
			   (again && !data && below(2));
	bool blocking = again && !shared_tags && below(2);

	nullb(name, "size", 64);
	nullb(name, "memory_backed", data);
	nullb(name, "discard", data);
	nullb(name, "blocking", blocking);
	nullb(name, "irqmode", again ? below(3) : 2);
	nullb(name, "completion_nsec", 10000 + below(2000000));
	/* Enough for a read on each CPU */
	nullb(name, "hw_queue_depth", strcmp(name, "lost") ? pick(depths) : 64);
	nullb(name, "submit_queues", 1 + below(nr_cpus));
	nullb(name, "shared_tags", shared_tags);
	if (again)
		nullb(name, "shared_tag_bitmap", below(2));
	return nullb(name, "power", 1);
}

static int nullb_make(const char *name, bool data)
{
	char path[128];

	snprintf(path, sizeof(path), NULLB "/%s", name);
	if (mkdir(path, 0755))
		return -errno;
	/* Injected faults come with a stack trace otherwise. */
	put("0", NULLB "/%s/timeout_inject/verbose", name);
	put("0", NULLB "/%s/requeue_inject/verbose", name);
	return nullb_on(name, data);
}

static int nullb_remove(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), NULLB "/%s", name);
	nullb(name, "power", 0);
	return rmdir(path) ? -errno : 0;
}

/*
 * scsi_busy: writing every_nth blocks all hosts of scsi_debug, that which is only
 * just being made as well, and is not there yet.
 */
/* The command line of the kernel has add_host=0 (boot.sh). */
static int load_scsi(void)
{
	return run("modprobe scsi_debug dev_size_mb=64 num_tgts=2 statistics=1 "
		   "submit_queues=%d host_max_queue=%d ndelay=%d && "
		   "echo 1 > /sys/bus/pseudo/drivers/scsi_debug/add_host",
		   1 + below(nr_cpus), 1 + below(32), 10000 + below(1000000));
}

static int load(const char *module)
{
	return run("modprobe %s", module);
}

static int unload(const char *module)
{
	return run("modprobe -r %s 2>/dev/null", module);
}

/* I/O: one process per disk, and one fio at a time */

static bool said(const char *path, const char *what)
{
	return vget(path, page, sizeof(page)) > 0 && strstr(page, what);
}

/*
 * Wait for a process that ends by itself or, once the round is over, is told to,
 * and killed.  If not even that ends it, it waits for an I/O that is never done:
 * false.  How long it takes until then says nothing: some kernels are slow.
 */
static bool reap(pid_t pid, int *status)
{
	double told = 0;

	while (waitpid(pid, status, WNOHANG) == 0) {
		if (atomic_load(&shared->stop) && !told) {
			kill(pid, SIGINT);
			told = now();
		}
		if (told && now() > told + REST_S)
			return false;
		/* fio goes on with its next job, or has not begun. */
		if (told && now() > told + PATIENCE_S +
				    ARRAY_SIZE(slots) * fio_start_s)
			kill(pid, SIGKILL);
		nap(20);
	}
	return true;
}

/*
 * Called before and after it is taken away.  What fio reads then may be nothing,
 * with no error: it is of size 0 for a moment, and may forget its data.
 */
static void removal(enum device device)
{
	atomic_fetch_add(&shared->removals[device], 1);
}

/* The form in which "again" is there may be another one in a moment. */
static bool has_data(const struct slot *slot)
{
	return slot->data && (slot->device != D_AGAIN ||
			      said(NULLB "/again/memory_backed", "1"));
}

/* The options of one job; returns how long it takes. */
static int fio_job(const struct slot *slot, char *text, size_t size)
{
	static const char * const engines[] = { "psync", "io_uring", "libaio" };
	static const char * const kinds[] = {
		"randread", "randread", "randrw", "randwrite", "read", "randtrim"
	};
	static const char * const sizes[] = { "512", "4k", "4k", "4k", "64k" };
	static const int depths[] = { 1, 1, 1, 2, 4, 16, 32, 128 };
	static const int thinks[] = { 0, 1000, 5000, 20000, 50000, 100000 };
	bool verify = has_data(slot) && below(2);
	int n, runtime = 2 + below(7);

	n = snprintf(text, size,
		     " --name=%s --stonewall --ioengine=%s --iodepth=%d "
		     "--bs=%s --thinktime=%d --randseed=%u --offset=%dm "
		     "--size=%um --runtime=%d ", verify ? "verify" : "load",
		     pick(engines), pick(depths), pick(sizes), pick(thinks),
		     below(1U << 31), slot->offset_mb, 4 + below(28), runtime);
	if (verify)
		snprintf(text + n, size - n,
			 "--rw=%s --verify=crc32c --verify_fatal=1 "
			 "--verify_backlog=%u",
			 below(2) ? "randwrite" : "randrw", 1 + below(64));
	else
		snprintf(text + n, size - n,
			 "--rw=%s --time_based --fsync=%u --numjobs=%u%s",
			 slot->data ? pick(kinds) : kinds[below(5)],
			 below(2) * below(32), 1 + below(2),
			 slot->clean ? "" : " --continue_on_error=all");
	return runtime;
}

/* How many jobs of this name did what they should, or did not */
static void tally_jobs(const char *log, const char *name, enum action action,
		       const char *disk, int nr)
{
	char *line, *rest = page, *error;
	size_t len = strlen(name);

	if (vget(log, page, sizeof(page)) <= 0)
		return;
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, name, len) || line[len] != ':')
			continue;
		error = strstr(line, "err=");
		if (!error)
			continue;
		tally(action, -atoi(error + 4), disk);
		if (!atoi(error + 4))
			atomic_fetch_add(&shared->jobs[nr], 1);
	}
}

/*
 * One process for several jobs: it takes a debug kernel seconds to start fio,
 * with its many libraries.
 */
static void read_and_write(int nr)
{
	const struct slot *slot = &slots[nr];
	char disk[64], link[64], node[80], log[64], command[8192];
	int seconds = 0;
	unsigned int removals;
	int i, n, ret, status;
	cpu_set_t cpus;
	pid_t pid;

	removals = atomic_load(&shared->removals[slot->device]);
	if (!find_disk(slot, disk)) {
		nap(50);
		return;
	}
	/* fio unlinks what it takes for a file: what has just been away. */
	snprintf(link, sizeof(link), "/tmp/disk.%d", nr);
	snprintf(node, sizeof(node), "/dev/%s", disk);
	unlink(link);
	if (symlink(node, link))
		give_up("%s: %s", link, strerror(errno));
	snprintf(log, sizeof(log), "/tmp/fio.%d", nr);
	n = snprintf(command, sizeof(command),
		     "exec fio --filename=%s --allow_file_create=0 --direct=1 "
		     "--thread", link);
	while (seconds < FIO_S) {
		seconds += fio_job(slot, command + n, sizeof(command) - n);
		n += strlen(command + n);
	}
	note("%s: %s", disk, command + 5);
	snprintf(command + n, sizeof(command) - n, " >%s 2>&1", log);

	/* Isolated CPUs get nothing to do unless they are asked for. */
	CPU_ZERO(&cpus);
	for (i = 0; i < nr_cpus; i++) {
		if (below(2))
			CPU_SET(i, &cpus);
	}

	pid = fork();
	if (pid == 0) {
		sched_setaffinity(0, sizeof(cpus), &cpus);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	if (!reap(pid, &status)) {
		fail("%s: I/O does not end; see debugfs", disk);
		run("grep -r . /sys/kernel/debug/block/%s >%s/debugfs", disk,
		    out);
		kill(pid, SIGKILL);
		return;
	}

	ret = WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
	tally_jobs(log, "load", A_READ_WRITE, disk, nr);
	tally_jobs(log, "verify", A_VERIFY, disk, nr);
	if (removals == atomic_load(&shared->removals[slot->device]) &&
	    (said(log, "verify: bad") || said(log, "verify failed") ||
	     said(log, "Invalid or incomplete multibyte")))
		fail("%s: data is not what was written; see fio.%d", disk, nr);
	else if (ret && slot->clean && !atomic_load(&shared->stop))
		fail("%s: I/O fails; see fio.%d", disk, nr);
	else
		return;
	run("cp %s %s/fio.%d", log, out, nr);
}

/* The actors; each does one thing once */

static int knob_open(char *path, size_t size, const char *knob)
{
	char disk[64];

	if (!pick_disk(disk))
		return -1;
	snprintf(path, size, "/sys/block/%s/queue/cpu_lat_%s", disk, knob);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* By one descriptor: another disk may have the name already. */
static int knob_read(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return 0;
}

static void act_knob(void)
{
	static const char * const knobs[] = {
		"limit_us", "limit_us", "limit_us", "timeout_us", "hold_us",
		"wake"
	};
	static const char * const values[][6] = {
		{ "-1", "0", "5", "10", "10", "2147483647" },
		{ "-1", "1", "10", "10", "100", "100" },
		{ "0", "10", "10", "50", "200", "1000000" },
		{ "1", "100", "3000", "10000", "100000", "2147483647" },
		{ "0", "0", "50", "1000", "6000", "1000000" },
		{ "0", "1", "1", "1", "1", "1" },
	};
	static const char * const wrong[] = {
		" ", "x", "-2", "1 2", "0x10", "99999999999", "1.5", "2147483648",
		"-2147483649", "1,"
	};
	/* The nearest ones that are */
	static const char * const out_of_range[] = {
		"-2", "-2", "-2", "0", "-1", "2"
	};
	char path[160], before[64] = "", after[64] = "", what[300];
	unsigned int which = below(ARRAY_SIZE(knobs));
	bool bad = below(8) == 0;
	const char *value = !bad ? pick(values[which]) :
			    below(4) ? pick(wrong) : out_of_range[which];
	ssize_t wrote;
	int fd, ret;

	fd = knob_open(path, sizeof(path), knobs[which]);
	if (fd < 0)
		return;
	/* Then hints from elsewhere may come late: every other round, they may not. */
	if (which == 5 && !strcmp(value, "0")) {
		if (round_nr % 2 == 0)
			goto close;
		put("1", CHECK "/wake_off");
	}

	ret = knob_read(fd, before, sizeof(before));
	if (ret)
		goto close;
	wrote = pwrite(fd, value, strlen(value), 0);
	ret = wrote < 0 ? -errno : 0;
	if (knob_read(fd, after, sizeof(after)))
		goto close;	/* It has just gone away. */
	snprintf(what, sizeof(what), "%s: '%s' -> '%s', is '%s'", path, before,
		 value, after);
	tally(bad ? A_BAD_KNOB : A_KNOB, bad && ret == -EINVAL ? 0 : ret, what);

	if (bad && ret != -EINVAL && ret != -ENODEV)
		fail("%s is accepted or the wrong error: %d", what, ret);
	if (!bad && ret && ret != -ENOSPC && ret != -ENODEV)
		fail("%s is refused: %s", what, strerror(-ret));
	if (strcmp(after, bad || ret ? before : value))
		fail("%s: does not read back", what);
close:
	close(fd);
}

static void act_governor(void)
{
	char all[256], *word, *words[8], *rest = all;
	int n = 0;

	if (get(all, CPUS "/cpuidle/available_governors") <= 0)
		return;
	while (n < 8 && (word = strsep(&rest, " \n"))) {
		if (*word)
			words[n++] = word;
	}
	word = words[turn(T_GOVERNOR, n)];
	tally(A_GOVERNOR, put(word, CPUS "/cpuidle/current_governor"), word);
}

static void act_state(void)
{
	char cpu[64], state[64], what[160];
	/* Where all are disabled, CPUs poll: that is slow if they are emulated. */
	const char *value = below(3) ? "0" : "1";

	snprintf(cpu, sizeof(cpu), CPUS "/cpu%u/cpuidle", below(nr_cpus));
	if (!pick_name(cpu, "state", state))
		return;
	snprintf(what, sizeof(what), "%s/%s/disable", cpu, state);
	tally(A_STATE, vput(what, value), what);
}

static void all_cpus_on(void)
{
	int i;

	for (i = 1; i < nr_cpus; i++)
		put("1", CPUS "/cpu%d/online", i);
}

/*
 * The interrupts of a virtio-blk device are spread over the CPUs when it is probed
 * and, anew, when it is resumed.  In Linux 7.3 it matters for that which CPUs are
 * online, but blk-mq keeps its map from when the device was probed: then a queue
 * that is in use may have its interrupt on a CPU that is offline, and its I/O is
 * never done.  So all CPUs are to be online for both.
 */
static void hold_cpus(void)
{
	lock(&shared->cpus_busy);
	all_cpus_on();
}

static void release_cpus(void)
{
	unlock(&shared->cpus_busy);
}

static void act_hotplug(void)
{
	int cpu = 1 + below(nr_cpus - 1);
	bool on = below(2);
	char what[64];

	snprintf(what, sizeof(what), CPUS "/cpu%d/online", cpu);
	lock(&shared->cpus_busy);
	tally(on ? A_ONLINE : A_OFFLINE, vput(what, on ? "1" : "0"), what);
	unlock(&shared->cpus_busy);
}

/* Everything stands still, fio included, for a second or two. */
static void suspend(void)
{
	int ret, tries = 0;
	char ms[16];

	hold_cpus();
	do {
		/* It takes a while to suspend: in less than that, it is not. */
		snprintf(ms, sizeof(ms), "%u", 100 + below(pace * 3000));
		put(ms, "/sys/module/lab_wakeup/parameters/ms");
		ret = put("freeze", "/sys/power/state");
		tally(A_SUSPEND, ret, ms);
		put("0", "/sys/module/lab_wakeup/parameters/ms");
	} while (ret && ++tries < 3);
	release_cpus();
}

/*
 * nvme_awake: NVMe freezes its queues when it is suspended, and another process
 * ends that when it is resumed.  In Linux 6.12, lockdep takes the freeze for a
 * lock, and says so.  There, the driver is taken from the device before, where it
 * may be.
 */
static void act_suspend(void)
{
	char device[64];

	if (!nvme_awake) {
		suspend();
		return;
	}
	if (stays(D_NVME))
		return;

	lock(&shared->nvme_busy);
	removal(D_NVME);
	if (pick_name(NVME, "0000:", device)) {
		put(device, NVME "/unbind");
		suspend();
		put(device, NVME "/bind");
	}
	settle(D_NVME);
	removal(D_NVME);
	unlock(&shared->nvme_busy);
}

static void act_irq(void)
{
	char irq[64], mask[16], what[128];
	int ret;

	if (!pick_name("/proc/irq", "", irq) || !isdigit(irq[0]))
		return;
	snprintf(mask, sizeof(mask), "%x", 1 + below((1 << nr_cpus) - 1));
	snprintf(what, sizeof(what), "/proc/irq/%s/smp_affinity", irq);
	ret = vput(what, mask);
	/* Most are not ours, or managed. */
	tally(A_IRQ, ret, what);
}

/*
 * queues_busy: in Linux 6.12, a queue that is added while an elevator is
 * chosen remains without its data, and kyber_bio_merge() is where it is missed.
 * NVMe controllers may have more queues when they have been reset.
 */
static void hold_queues(void)
{
	if (old_kernel)
		lock(&shared->queues_busy);
}

static void release_queues(void)
{
	if (old_kernel)
		unlock(&shared->queues_busy);
}

static void act_elevator(void)
{
	static const char * const elevators[] = {
		"none", "mq-deadline", "kyber", "bfq"
	};
	const char *elevator = pick(elevators);
	char disk[64], what[128];

	if (!pick_disk(disk))
		return;
	snprintf(what, sizeof(what), "%s: %s", disk, elevator);
	hold_queues();
	tally(A_ELEVATOR, put(elevator, "/sys/block/%s/queue/scheduler", disk),
	      what);
	release_queues();
}

static void act_nr_requests(void)
{
	char disk[64], value[16], what[128];

	if (!pick_disk(disk))
		return;
	snprintf(value, sizeof(value), "%u", 1 << below(9));
	snprintf(what, sizeof(what), "%s: %s", disk, value);
	tally(A_NR_REQUESTS, put(value, "/sys/block/%s/queue/nr_requests", disk),
	      what);
}

static void act_nr_hw_queues(void)
{
	const char *name = below(2) ? "keep" : "fault";
	unsigned int n = 1 + below(nr_cpus);
	char what[64];

	snprintf(what, sizeof(what), "%s: %u", name, n);
	hold_queues();
	tally(A_NR_HW_QUEUES, nullb(name, "submit_queues", n), what);
	release_queues();
}

static void act_nullb(void)
{
	int ret;

	if (stays(D_AGAIN))
		return;
	removal(D_AGAIN);
	ret = nullb("again", "power", 0);
	nap(below(200));
	if (!ret)
		ret = nullb_on("again", below(2));
	settle(D_AGAIN);
	removal(D_AGAIN);
	tally(A_NULLB, ret, "again");
}

/*
 * Once the driver has been taken from its devices, with I/O in flight, fio gets
 * errors and lets go of the disk, and with that of the module.
 */
static void reload(enum action action, const char *module, int (*again)(void))
{
	int ret, tries = 0;

	while ((ret = unload(module)) && tries++ < 50 &&
	       !atomic_load(&shared->stop))
		nap(100);
	if (!ret)
		nap(below(500));
	/* Where it could not be unloaded, it is there still: no harm done. */
	if (again ? ret == 0 && again() : load(module))
		fail("%s: cannot be loaded again", module);
	tally(action, ret ? -EBUSY : 0, module);
}

static int scsi_delete(const char *disk)
{
	return put("1", "/sys/block/%s/device/delete", disk);
}

static void act_scsi(void)
{
	struct slot slot = { D_SCSI, "sd", below(2) };
	char disk[64];

	if (stays(D_SCSI))
		return;
	removal(D_SCSI);
	if (turn(T_SCSI, 4) == 0) {
		lock(&shared->scsi_busy);
		while (find_disk(&(struct slot){ D_SCSI, "sd" }, disk) &&
		       !scsi_delete(disk))
			;
		reload(A_SCSI_MODULE, "scsi_debug", load_scsi);
		unlock(&shared->scsi_busy);
	} else if (find_disk(&slot, disk)) {
		tally(A_SCSI_DELETE, scsi_delete(disk), disk);
		nap(below(500));
	}
	run("for h in /sys/class/scsi_host/*/scan; do echo '- - -' >$h; done");
	settle(D_SCSI);
	removal(D_SCSI);
}

/* Take a driver from its device and, if there is none, give it back. */
static int rebind(const char *driver, const char *prefix, const char *module,
		  enum action action)
{
	char device[64], path[256];
	int ret;

	if (!pick_name(driver, prefix, device))
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/unbind", driver);
	ret = vput(path, device);
	if (module) {
		reload(action, module, NULL);
	} else {
		nap(below(300));
		tally(action, ret, device);
	}
	snprintf(path, sizeof(path), "%s/bind", driver);
	return vput(path, device);
}

static void act_virtio(void)
{
	bool module = turn(T_VIRTIO, 3) == 0;

	if (stays(D_VIRTIO))
		return;
	removal(D_VIRTIO);
	hold_cpus();
	rebind("/sys/bus/virtio/drivers/virtio_blk", "virtio",
	       module ? "virtio_blk" : NULL,
	       module ? A_VIRTIO_MODULE : A_VIRTIO_UNBIND);
	release_cpus();
	settle(D_VIRTIO);
	removal(D_VIRTIO);
}

static void act_nvme(void)
{
	char name[64];

	lock(&shared->nvme_busy);
	switch (stays(D_NVME) ? 3 : turn(T_NVME, 4)) {
	case 0:
		removal(D_NVME);
		rebind(NVME, "0000:", "nvme", A_NVME_MODULE);
		removal(D_NVME);
		break;
	case 1:
		removal(D_NVME);
		rebind(NVME, "0000:", NULL, A_NVME_UNBIND);
		removal(D_NVME);
		break;
	/* A controller that is reset has lost nothing. */
	default:
		if (!pick_name("/sys/class/nvme", "nvme", name))
			break;
		hold_queues();
		tally(A_NVME_RESET,
		      put("1", "/sys/class/nvme/%s/reset_controller", name),
		      name);
		release_queues();
	}
	settle(D_NVME);
	unlock(&shared->nvme_busy);
}

/* fault_attr NAME VALUE: those of the disk "fault" */
static int inject(const char *what, const char *attribute, const char *value)
{
	return put(value, NULLB "/fault/%s/%s", what, attribute);
}

static void faults_off(void)
{
	inject("timeout_inject", "probability", "0");
	inject("requeue_inject", "probability", "0");
	put("0", "/sys/kernel/debug/fail_io_timeout/probability");
	lock(&shared->scsi_busy);
	put("0", SCSI "/every_nth");
	put("0", SCSI "/opts");
	unlock(&shared->scsi_busy);
}

static void act_fault(void)
{
	static const char * const percents[] = { "1", "2", "10" };
	/* Timeout, medium, recovered and transport error, short transfer */
	static const char * const opts[] = {
		"0x4", "0x2", "0x8", "0x10", "0x100"
	};
	const char *percent = pick(percents);
	const struct slot *slot;
	char disk[64];
	int ret;

	switch (turn(T_FAULT, 4)) {
	case 0:
		inject("timeout_inject", "times", "-1");
		ret = inject("timeout_inject", "probability", percent);
		tally(A_TIMEOUT, ret, "null_blk");
		break;
	case 1:
		inject("requeue_inject", "times", "-1");
		ret = inject("requeue_inject", "probability", percent);
		tally(A_REQUEUE, ret, "null_blk");
		break;
	case 2:
		/* Of virtio, what is lost is lost: it has no timeout. */
		slot = &pick(slots);
		if (slot->clean || slot->device == D_VIRTIO || !find_disk(slot, disk))
			return;
		put("1", "/sys/block/%s/io-timeout-fail", disk);
		put("0", "/sys/kernel/debug/fail_io_timeout/verbose");
		put("-1", "/sys/kernel/debug/fail_io_timeout/times");
		ret = put("1", "/sys/kernel/debug/fail_io_timeout/probability");
		tally(A_TIMEOUT, ret, disk);
		break;
	default:
		lock(&shared->scsi_busy);
		put(pick(opts), SCSI "/opts");
		ret = put("200", SCSI "/every_nth");
		unlock(&shared->scsi_busy);
		tally(A_SCSI_FAULT, ret, "scsi_debug");
	}
	nap(below(1500));
	faults_off();
}

static const struct actor {
	void		(*act)(void);
	unsigned int	pause_ms;	/* at most, between two, times pace */
	bool		hints;		/* only where there are any */
} actors[] = {
	{ act_knob,		50,	true },
	{ act_governor,		500 },
	{ act_state,		300 },
	{ act_hotplug,		3000 },
	{ act_suspend,		15000 },
	{ act_irq,		300 },
	{ act_elevator,		1000 },
	{ act_nr_requests,	1000 },
	{ act_nr_hw_queues,	1500 },
	{ act_nullb,		1500 },
	{ act_scsi,		4000 },
	{ act_virtio,		5000 },
	{ act_nvme,		5000 },
	{ act_fault,		3000 },
};

/* The kernel's log */

static bool has_one(const char *text, const char * const *words)
{
	while (*words && !strstr(text, *words))
		words++;
	return *words;
}

/* A race between others is noise; one that we have a part in is not. */
static bool ours(const char *text)
{
	static const char * const words[] = { "io_hint", "cpu_lat", NULL };

	return has_one(text, words);
}

/*
 * What we add to blk-mq is inlined, so that only the title has the name of a
 * function there.  But ours are the fields of 16 bits.
 */
static bool ours_inlined(const char *title, const char *text)
{
	return strstr(title, "blk_mq_") && strstr(text, " of 2 bytes ");
}

static void complaint(const char *line)
{
	static const char * const words[] = {
		"BUG:", "WARNING:", "INFO: ", "Oops", "ODEBUG:", "refcount_t:",
		"corruption", "suspicious RCU", "UBSAN:", "unchecked MSR",
		"nobody cared", "tick-stop error",
		"Kernel memory leak detector disabled", NULL
	};

	if (has_one(line, words))
		fail("kernel: %s", line);
}

/*
 * One line of the log at a time.  The report of a race is between two lines of
 * "=", with the stacks of who accesses what.  Of a stack, what an interrupt or an
 * exception has come upon has no part in the race.
 */
static void watch_line(const char *text)
{
	static char race[256];
	static bool race_ours, interrupted;

	/* Lines are lost, with how a race ended, perhaps. */
	if (!text) {
		race[0] = 0;
	} else if (*race && !strncmp(text, "=====", 5)) {
		if (race_ours)
			fail("kernel: %s", race);
		else
			atomic_fetch_add(&shared->background, 1);
		note("%s", race);
		race[0] = 0;
	} else if (strstr(text, "BUG: KCSAN:")) {
		snprintf(race, sizeof(race), "%.255s", text);
		race_ours = ours(text);
		interrupted = false;
	} else if (*race) {
		if (!*text)
			interrupted = false;
		else if (!interrupted)
			race_ours |= ours(text) || ours_inlined(race, text);
		if (!strncmp(text, " asm_", 5))
			interrupted = true;
	} else {
		complaint(text);
	}
}

static void __attribute__((noreturn)) watch_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_CLOEXEC);
	char line[8192], *text;
	ssize_t n;

	lseek(fd, 0, SEEK_DATA);
	for (;;) {
		n = read(fd, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE) {
			note("the kernel says more than can be read");
			watch_line(NULL);
			continue;
		}
		if (n <= 0)
			exit(0);
		line[n] = 0;
		text = strchr(line, ';');
		text = text ? text + 1 : line;
		text[strcspn(text, "\n")] = 0;
		watch_line(text);
	}
}

/* The checks */

static void check_module(void)
{
	static int before;
	int violations;

	if (!exists(CHECK) || get(page, CHECK "/violations") <= 0)
		return;
	violations = atoi(page);
	if (violations > before)
		fail("lab_check: violations: %s", page);
	before = violations;
}

/* Nothing pending, soon: what got lost is found by its timeout. */
static void check_pending(const char *when)
{
	double deadline = now() + 20;

	if (!patched)
		return;
	for (;;) {
		if (get(page, CHECK "/pending") == 0)
			break;
		if (now() > deadline) {
			fail("%s: still pending, by CPU and class: %s", when,
			     page);
			break;
		}
		nap(100);
	}
	if (run("awk 'NR > 1 && $2 != 0 { exit 1 }' " HINT "/cpus")) {
		get(page, HINT "/cpus");
		fail("%s: pending by debugfs: %s", when, page);
	}
}

/* Whoever was to be woken has been. */
static void check_waking(const char *when)
{
	double deadline = now() + 10;

	while (patched && get(page, CHECK "/waking") != 0) {
		if (now() > deadline) {
			fail("%s: still to be woken, CPUs: %s", when, page);
			return;
		}
		nap(10);
	}
}

/* What the log may have been too short for */
static void check_kernel(void)
{
	/* A bad page, as KASAN says; an oops; a warning; a CPU that is stuck */
	const unsigned long bad = 1UL << 5 | 1UL << 7 | 1UL << 9 | 1UL << 14;

	get(page, "/proc/sys/kernel/tainted");
	if (strtoul(page, NULL, 10) & bad)
		fail("the kernel is tainted: %s", page);

	/* After its first report, lockdep looks no more. */
	if (get(page, "/proc/lockdep_stats") > 0) {
		char *locks = strstr(page, "debug_locks:");

		if (locks && !atoi(locks + strlen("debug_locks:")))
			fail("lockdep has turned itself off");
	}
}

/* No limit, no class and no key */
static void check_unused(const char *when)
{
	if (!patched)
		return;
	get(page, HINT "/classes");
	if (strchr(page, '\n'))
		fail("%s: classes are in use: %s", when, page);
	get(page, CHECK "/keys");
	if (strcmp(page, "0 0"))
		fail("%s: static keys are on: %s", when, page);
}

static void limits_off(void)
{
	char all[64][64];
	int n = names("/sys/block", "", all, ARRAY_SIZE(all));

	while (n--) {
		put("-1", "/sys/block/%s/queue/cpu_lat_limit_us", all[n]);
		put("1", "/sys/block/%s/queue/cpu_lat_wake", all[n]);
	}
}

/* What debugfs counts for each CPU */
struct counts {
	unsigned long	capped;
	unsigned long	expired;
};

static void get_counts(struct counts *counts)
{
	char *line;
	int cpu;

	memset(counts, 0, nr_cpus * sizeof(*counts));
	get(page, HINT "/cpus");
	line = strtok(page, "\n");
	while (line && (line = strtok(NULL, "\n"))) {
		cpu = atoi(line);
		if (cpu < nr_cpus)
			sscanf(line, "%*d %*d %*u %*u %lu %lu",
			       &counts[cpu].capped, &counts[cpu].expired);
	}
}

static int nr_pending(void)
{
	char *line = page;
	int n = 0;

	get(page, CHECK "/pending");
	while (*line && ++n && (line = strchr(line, '\n')))
		line++;
	return n;
}

/*
 * A read on each CPU that the device forgets, while the machine has nothing else
 * to do: the hints are to expire, and the CPUs not to stay shallow from then on.
 */
static void lose_reads(void)
{
	struct counts before[nr_cpus], expired[nr_cpus], after[nr_cpus];
	pid_t pids[nr_cpus];
	double deadline;
	char what[128];
	int cpu, ret;

	ret = nullb_make("lost", false);
	if (!ret)
		ret = put("6000", "/sys/block/lost/queue/io_timeout");
	put("-1", NULLB "/lost/timeout_inject/times");
	put("100", NULLB "/lost/timeout_inject/probability");
	if (patched) {
		put("100000", "/sys/block/lost/queue/cpu_lat_timeout_us");
		put("10", "/sys/block/lost/queue/cpu_lat_limit_us");
		get_counts(before);
	}

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		pids[cpu] = fork();
		if (pids[cpu])
			continue;
		snprintf(what, sizeof(what), "exec taskset %x dd if=/dev/lost "
			 "of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null",
			 1 << cpu);
		execl("/bin/sh", "sh", "-c", what, NULL);
		_exit(127);
	}
	tally(A_LOSE, ret, "read");

	deadline = now() + 5;
	while (patched && !ret && nr_pending() < nr_cpus && now() < deadline)
		nap(10);
	/* 100 ms, a tick, and time for the emulator to stand still */
	nap(1000);
	if (patched && !ret) {
		get_counts(expired);
		nap(2000);
		get_counts(after);
		check_module();
	}
	for (cpu = 0; patched && !ret && cpu < nr_cpus; cpu++) {
		if (expired[cpu].expired <= before[cpu].expired)
			fail("CPU %d: a lost read has not expired", cpu);
		else if (after[cpu].capped != expired[cpu].capped)
			fail("CPU %d: is limited by a lost read that has expired",
			     cpu);
	}
	for (cpu = 0; cpu < nr_cpus; cpu++)
		waitpid(pids[cpu], NULL, 0);
	put("-1", "/sys/block/lost/queue/cpu_lat_limit_us");
	nullb_remove("lost");
}

/* Rounds */

static pid_t spawn(unsigned int nr)
{
	pid_t pid = fork();

	if (pid == 0) {
		rng = seed * 1000003 + round_nr * 1009 + nr;
		rnd();
		setpgid(0, 0);
	} else if (pid < 0) {
		give_up("fork: %s", strerror(errno));
	}
	return pid;
}

static void rest(void)
{
	char cpu[64], all[16][64];
	int i, n;

	all_cpus_on();
	for (i = 0; i < nr_cpus; i++) {
		snprintf(cpu, sizeof(cpu), CPUS "/cpu%d/cpuidle", i);
		n = names(cpu, "state", all, ARRAY_SIZE(all));
		while (n--)
			put("0", "%s/%s/disable", cpu, all[n]);
	}
	faults_off();
	for (i = 0; i < NR_DEVICES; i++)
		settle(i);
}

static void one_round(int seconds)
{
	pid_t pids[ARRAY_SIZE(slots) + ARRAY_SIZE(actors)];
	double deadline;
	unsigned int i, n = 0;
	char when[32];
	int status;

	snprintf(when, sizeof(when), "round %u", round_nr);
	atomic_store(&shared->stop, false);
	put("0", CHECK "/wake_off");
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		pids[n] = spawn(n);
		if (pids[n] == 0) {
			while (!atomic_load(&shared->stop))
				read_and_write(i);
			exit(0);
		}
		n++;
	}
	for (i = 0; i < ARRAY_SIZE(actors); i++) {
		if (actors[i].hints && !patched)
			continue;
		pids[n] = spawn(n);
		if (pids[n] == 0) {
			while (!atomic_load(&shared->stop)) {
				nap(below(pace * actors[i].pause_ms));
				if (!atomic_load(&shared->stop))
					actors[i].act();
			}
			exit(0);
		}
		n++;
	}

	deadline = now() + seconds;
	while (now() < deadline && !atomic_load(&shared->failures)) {
		nap(100);
		check_module();
	}
	atomic_store(&shared->stop, true);

	deadline = now() + 2 * REST_S;
	for (i = 0; i < n; i++) {
		while (waitpid(pids[i], &status, WNOHANG) == 0) {
			if (now() > deadline) {
				fail("%s: process %u does not end", when, i);
				run("cat /proc/[0-9]*/stack >%s/stacks "
				    "2>/dev/null", out);
				return;
			}
			nap(20);
		}
		if (status)
			fail("%s: process %u has died: %#x", when, i, status);
	}

	rest();
	check_pending(when);
	check_waking(when);
	check_module();
	limits_off();
	check_unused(when);
	lose_reads();
	check_pending("after lost reads");
	check_module();
	check_kernel();
}

/* The drivers and their disks */
static void disks_on(void)
{
	int i;

	if (load("null_blk") || load_scsi() || load("virtio_blk") ||
	    load("nvme"))
		give_up("a driver is missing");
	if (nullb_make("keep", true) || nullb_make("again", true) ||
	    nullb_make("fault", false) || nullb_make("pair", false))
		give_up("null_blk does not work");
	for (i = 0; i < NR_DEVICES; i++)
		settle(i);
}

/* Everything goes: what is left then has leaked. */
static void disks_off(const char *when)
{
	int ret;

	nullb_remove("keep");
	nullb_remove("again");
	nullb_remove("fault");
	nullb_remove("pair");
	ret = unload("null_blk");
	tally(A_NULL_MODULE, ret, "null_blk");
	if (ret || unload("scsi_debug") || unload("virtio_blk") ||
	    unload("nvme"))
		fail("%s: a driver is still in use", when);
	check_pending(when);
	check_unused(when);
	if (run("! ls /sys/block /sys/kernel/debug/block | "
		"grep -E '^(keep|again|fault|pair|lost|sd|vd|nvme)'"))
		fail("%s: of a disk, there is something left", when);
}

/* What is noted goes to this file. */
static void setup_notes(const char *path)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		give_up("mmap: %s", strerror(errno));
	clock_gettime(CLOCK_BOOTTIME, &start);
	actions_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (actions_fd < 0)
		give_up("%s: %s", path, strerror(errno));
}

static void setup(void)
{
	struct utsname kernel;

	snprintf(page, sizeof(page), "%s/actions", out);
	setup_notes(page);
	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (nr_cpus < 2)
		give_up("needs two CPUs");
	uname(&kernel);
	old_kernel = atoi(kernel.release) < 7;
	nvme_awake = old_kernel && exists("/proc/lockdep_stats");
	patched = exists(HINT);
	if (patched && !exists(CHECK))
		give_up("the module lab_check is not there");

	rng = seed;
	disks_on();

	if (run("fio --version >/dev/null"))
		give_up("fio does not run");
	/* With all its libraries: seconds, on some debug kernels */
	fio_start_s = now();
	run("for i in $(seq %zu); do fio --name=start --filename=/dev/keep "
	    "--size=4k --rw=read --thread >/dev/null & done; wait",
	    ARRAY_SIZE(slots));
	fio_start_s = (now() - fio_start_s) / ARRAY_SIZE(slots);
	/* The slower the kernel, the fewer the actions, or nothing else is done. */
	pace = fio_start_s > 1 ? fio_start_s : 1;
}

/*
 * All disks are to be read and written for this long, once or twice; to start fio
 * next to all else takes twice as long as it does alone.
 */
static int round_s(int seconds, int starts)
{
	return seconds + starts * ARRAY_SIZE(slots) * fio_start_s;
}

static void check_leaks(void)
{
	int ret;

	if (!exists("/sys/kernel/debug/kmemleak"))
		return;
	/* What is found the first time may only just have been let go. */
	ret = put("scan", "/sys/kernel/debug/kmemleak");
	nap(6000);
	ret = put("scan", "/sys/kernel/debug/kmemleak") ?: ret;
	if (ret)
		fail("kmemleak does not work: %s", strerror(-ret));
	get(page, "/sys/kernel/debug/kmemleak");
	if (*page)
		fail("kmemleak: %s", page);
}

static void usage(void)
{
	fprintf(stderr, "usage: stress -s SEED -t SECONDS [-o DIR]\n"
			"       stress -l <LOG\n");
	exit(2);
}

static uint64_t number(const char *arg)
{
	char *end;
	uint64_t n = strtoull(arg, &end, 10);

	if (!isdigit(*arg) || *end) {
		fprintf(stderr, "stress: '%s' is not a number\n", arg);
		usage();
	}
	return n;
}

/* The result of all */
static int summary(void)
{
	say("%u races between others", atomic_load(&shared->background));
	say("%u failures", atomic_load(&shared->failures));
	return atomic_load(&shared->failures) ? 1 : 0;
}

/* A log that somebody has kept, without time stamps */
static int read_log(void)
{
	setup_notes("/dev/null");
	while (fgets(page, sizeof(page), stdin)) {
		page[strcspn(page, "\n")] = 0;
		watch_line(page);
	}
	return summary();
}

int main(int argc, char **argv)
{
	int option, seconds = 0, left, shortest, longest;
	unsigned int i;
	bool complete;
	pid_t watcher;

	while ((option = getopt(argc, argv, "s:t:o:l")) != -1) {
		switch (option) {
		case 's':
			seed = number(optarg);
			break;
		case 't':
			seconds = number(optarg);
			break;
		case 'o':
			out = optarg;
			break;
		case 'l':
			log_only = true;
			break;
		default:
			usage();
		}
	}
	if (optind != argc || log_only == !!seconds)
		usage();
	if (log_only)
		return read_log();

	setup();
	watcher = fork();
	if (watcher == 0)
		watch_log();
	say("seed %llu, %d s, %d CPUs, %s", (unsigned long long)seed, seconds,
	    nr_cpus, patched ? "with hints" : "without hints");
	longest = round_s(ROUND_S, 4);
	shortest = round_s(SHORT_ROUND_S, 2);
	say("rounds of %d to %d s; fio starts in %.1f s", shortest, longest,
	    fio_start_s);

	do {
		if (round_nr && round_nr % ROUNDS_WITH_DISKS == 0) {
			disks_off("between rounds");
			disks_on();
		}
		left = seconds - now();
		if (left > longest)
			left = longest;
		if (left < shortest)
			left = shortest;
		one_round(left);
		say("round %u, %.0f s of %d s, %u failures", round_nr, now(),
		    seconds, atomic_load(&shared->failures));
		round_nr++;
	} while (now() + shortest < seconds &&
		 !atomic_load(&shared->failures));

	if (!atomic_load(&shared->failures)) {
		disks_off("at the end");
		check_leaks();
	}
	nap(500);
	if (waitpid(watcher, NULL, WNOHANG))
		fail("nobody has watched the kernel's log");
	kill(watcher, SIGKILL);

	/* It takes two rounds until everything has had its turn. */
	complete = seconds >= 2 * longest &&
		   !atomic_load(&shared->failures);
	for (i = 0; i < NR_ACTIONS; i++) {
		say("%-20s %6u done %6u refused", action_names[i],
		    atomic_load(&shared->done[i]),
		    atomic_load(&shared->refused[i]));
		if (complete && !atomic_load(&shared->done[i]) &&
		    (patched || (i != A_KNOB && i != A_BAD_KNOB)))
			fail("%s: never done", action_names[i]);
	}
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		say("jobs on %-5s %d      %6u done", slots[i].prefix,
		    slots[i].nth, atomic_load(&shared->jobs[i]));
		if (complete && !atomic_load(&shared->jobs[i]))
			fail("%s %d: no job was done", slots[i].prefix,
			     slots[i].nth);
	}
	if (exists(CHECK "/checked")) {
		get(page, CHECK "/checked");
		say("%-20s %6s done", "lab_check: looks", page);
		if (complete && atol(page) < seconds / 60)
			fail("lab_check has seen next to nothing");
		get(page, CHECK "/excused");
		say("%-20s %6s done", "lab_check: woken", page);
	}
	return summary();
}
