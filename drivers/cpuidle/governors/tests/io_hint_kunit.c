// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the pending-I/O hints; included at the end of io_hint.c
 *
 * The counters, the classes, the clock and the idle state table are the
 * tests' own: nothing here reaches the CPUs that run them, with the exception
 * of io_hint_publish_test(), which takes a class for itself while it runs, and of
 * io_hint_wake_test(), which does nothing unless the hints are patched out.
 */

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/pm_qos.h>
#include <linux/workqueue.h>

#define IO_HINT_US		((u64)NSEC_PER_USEC)
#define IO_HINT_TIMEOUT		(3000 * IO_HINT_US)

/* Some time after boot; tests move it. */
static u64 io_hint_test_now;
static unsigned int io_hint_test_clock_reads;

static u64 io_hint_test_clock(void)
{
	io_hint_test_clock_reads++;
	return io_hint_test_now;
}

/* What one CPU looks like to the idle path, for one test case. */
struct io_hint_test {
	struct io_hint_cpu		hint;
	struct cpuidle_io_hint_counts	counts;
	struct io_hint_class		classes[CPUIDLE_IO_HINT_CLASSES];
	unsigned long			active;
	u64				left;
};

static int io_hint_test_init(struct kunit *test)
{
	struct io_hint_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);

	t->classes[1] = (struct io_hint_class){ 10 * IO_HINT_US, IO_HINT_TIMEOUT, 0, 1 };
	t->classes[2] = (struct io_hint_class){ 100 * IO_HINT_US, 2 * IO_HINT_TIMEOUT, 0, 1 };
	t->classes[3] = (struct io_hint_class){ 0, IO_HINT_TIMEOUT / 2, 0, 1 };
	t->active = BIT(1) | BIT(2);
	/* As at boot */
	t->hint.expired = ~0UL;

	io_hint_test_now = 100 * (u64)NSEC_PER_SEC;
	io_hint_test_clock_reads = 0;
	test->priv = t;

	return 0;
}

static s64 io_hint_test_look(struct io_hint_test *t)
{
	return io_hint_limit(&t->hint, &t->counts, t->classes, t->active,
			     io_hint_test_clock, &t->left);
}

/* Counters and what is pending from them, wrap included. */
struct io_hint_pending_case {
	const char	*name;
	u32		own_published, own_withdrawn;
	u32		far_published, far_withdrawn;
	int		pending;
};

static const struct io_hint_pending_case io_hint_pending_cases[] = {
	{ "nothing",			0, 0, 0, 0,		0 },
	{ "own",			3, 1, 0, 0,		2 },
	{ "far",			0, 0, 7, 2,		5 },
	{ "published own, withdrawn far", 5, 0, 0, 4,		1 },
	{ "published far, withdrawn own", 0, 4, 5, 0,		1 },
	{ "both halves",		5, 3, 9, 8,		3 },
	{ "all done, halves unequal",	9, 2, 1, 8,		0 },
	{ "withdrawal seen first",	1, 2, 0, 0,		-1 },
	{ "own about to wrap",		U32_MAX, U32_MAX - 1, 0, 0, 1 },
	{ "own wrapped",		1, U32_MAX, 0, 0,	2 },
	{ "far wrapped",		0, 0, 2, U32_MAX - 1,	4 },
	{ "sum wraps",	U32_MAX, U32_MAX, U32_MAX, U32_MAX - 2,	2 },
	{ "half the range",	0x80000000u, 0x7fffffffu, 0, 0,	1 },
};

KUNIT_ARRAY_PARAM_DESC(io_hint_pending, io_hint_pending_cases, name);

static void io_hint_pending_test(struct kunit *test)
{
	const struct io_hint_pending_case *c = test->param_value;
	struct io_hint_test *t = test->priv;
	u32 activity;

	t->counts.own_published[1] = c->own_published;
	t->counts.own_withdrawn[1] = c->own_withdrawn;
	atomic_set(&t->counts.far_published[1], c->far_published);
	atomic_set(&t->counts.far_withdrawn[1], c->far_withdrawn);

	KUNIT_EXPECT_EQ(test, io_hint_pending(&t->counts, 1, &activity),
			c->pending);
	/* Its neighbours stay what they are. */
	KUNIT_EXPECT_EQ(test, io_hint_pending(&t->counts, 2, &activity), 0);
	/* Pending I/O is a limit; what is less than none is not. */
	io_hint_pending(&t->counts, 1, &activity);
	t->hint.seen[1] = ~activity;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t),
			c->pending > 0 ? (s64)(10 * IO_HINT_US) : S64_MAX);
}

/*
 * A sequence of looks at a class with a timeout of 3000 us: before each, the
 * clock moves on and some I/O is published or withdrawn.
 */
struct io_hint_step {
	u64	after_ns;
	int	published, withdrawn;
	bool	binds;
};

struct io_hint_expiry_case {
	const char		*name;
	u64			start_ns;
	unsigned int		expired;
	struct io_hint_step	steps[6];
};

static const struct io_hint_expiry_case io_hint_expiry_cases[] = {
	{ "last ns, then expiry", 1000, 1, {
		{ 0, 1, 0, true },
		{ IO_HINT_TIMEOUT - 1, 0, 0, true },
		{ 1, 0, 0, false },
	} },
	{ "time counts from the first look", 1000, 0, {
		{ 0, 0, 0, false },
		{ 5 * IO_HINT_TIMEOUT, 1, 0, true },
		{ IO_HINT_TIMEOUT - 1, 0, 0, true },
	} },
	{ "expired once, not at every look", 1000, 1, {
		{ 0, 1, 0, true },
		{ IO_HINT_TIMEOUT, 0, 0, false },
		{ IO_HINT_TIMEOUT, 0, 0, false },
		{ IO_HINT_TIMEOUT, 0, 0, false },
	} },
	{ "depth 1: same difference, new activity", 1000, 0, {
		{ 0, 1, 0, true },
		{ IO_HINT_TIMEOUT - 1, 1, 1, true },
		{ IO_HINT_TIMEOUT - 1, 1, 1, true },
		{ IO_HINT_TIMEOUT - 1, 1, 1, true },
	} },
	{ "a completion is activity", 1000, 1, {
		{ 0, 2, 0, true },
		{ IO_HINT_TIMEOUT - 1, 0, 1, true },
		{ IO_HINT_TIMEOUT - 1, 0, 0, true },
		{ 1, 0, 0, false },
	} },
	{ "activity revives an expired hint", 1000, 2, {
		{ 0, 1, 0, true },
		{ IO_HINT_TIMEOUT, 0, 0, false },
		{ 1000, 1, 0, true },
		{ IO_HINT_TIMEOUT, 0, 0, false },
	} },
	{ "all done", 1000, 0, {
		{ 0, 2, 0, true },
		{ 10, 0, 2, false },
		{ 10, 1, 0, true },
		{ 10, 0, 1, false },
	} },
	{ "one lost request does not hold for ever", 1000, 1, {
		{ 0, 2, 0, true },
		{ 10, 0, 1, true },
		{ IO_HINT_TIMEOUT, 0, 0, false },
		{ 100 * IO_HINT_TIMEOUT, 0, 0, false },
	} },
	{ "clock wraps", -(IO_HINT_TIMEOUT / 2), 1, {
		{ 0, 1, 0, true },
		{ IO_HINT_TIMEOUT - 1, 0, 0, true },
		{ 1, 0, 0, false },
	} },
	{ "clock is 0", 0, 1, {
		{ 0, 1, 0, true },
		{ IO_HINT_TIMEOUT - 1, 0, 0, true },
		{ 1, 0, 0, false },
	} },
};

KUNIT_ARRAY_PARAM_DESC(io_hint_expiry, io_hint_expiry_cases, name);

static void io_hint_expiry_steps(struct kunit *test, u32 first)
{
	const struct io_hint_expiry_case *c = test->param_value;
	struct io_hint_test *t = test->priv;
	int i;

	io_hint_test_now = c->start_ns;
	t->counts.own_published[1] = first;
	t->counts.own_withdrawn[1] = first;
	t->hint.seen[1] = first + first;

	for (i = 0; i < ARRAY_SIZE(c->steps); i++) {
		const struct io_hint_step *s = &c->steps[i];

		/* The rest of the array is empty. */
		if (i && !s->after_ns)
			break;

		io_hint_test_now += s->after_ns;
		t->counts.own_published[1] += s->published;
		/* It does not matter which CPU completes. */
		atomic_add(s->withdrawn, &t->counts.far_withdrawn[1]);

		KUNIT_EXPECT_EQ_MSG(test, io_hint_test_look(t),
				    s->binds ? (s64)(10 * IO_HINT_US) : S64_MAX,
				    "step %d", i);
		if (s->binds)
			KUNIT_EXPECT_EQ_MSG(test, t->left + t->hint.age_ns,
					    IO_HINT_TIMEOUT, "step %d", i);
	}
	KUNIT_EXPECT_EQ(test, t->hint.nr_expired, c->expired);
}

static void io_hint_expiry_test(struct kunit *test)
{
	io_hint_expiry_steps(test, 0);
}

/* The same where the counters wrap on the way. */
static void io_hint_expiry_wrap_test(struct kunit *test)
{
	io_hint_expiry_steps(test, U32_MAX);
}

/*
 * The same for a class with a hold time, shorter than the timeout: it begins with
 * the first look that finds nothing pending any more.
 */
#define IO_HINT_HOLD		(IO_HINT_TIMEOUT / 3)

static const struct io_hint_expiry_case io_hint_hold_cases[] = {
	{ "held to the last ns", 1000, 0, {
		{ 0, 1, 0, true },
		{ 10, 0, 1, true },
		{ IO_HINT_HOLD - 1, 0, 0, true },
		{ 1, 0, 0, false },
		{ 1, 0, 0, false },
	} },
	{ "not before there is I/O", 1000, 0, {
		{ 0, 0, 0, false },
		{ 10, 0, 0, false },
		{ 10, 1, 0, true },
	} },
	{ "I/O between two looks", 1000, 0, {
		{ 0, 0, 0, false },
		{ 10, 3, 3, true },
		{ IO_HINT_HOLD, 0, 0, false },
	} },
	{ "begins anew with each I/O", 1000, 0, {
		{ 0, 1, 1, true },
		{ IO_HINT_HOLD - 1, 1, 1, true },
		{ IO_HINT_HOLD - 1, 0, 0, true },
		{ 1, 0, 0, false },
		{ 1000, 1, 1, true },
	} },
	{ "pending again: the timeout counts", 1000, 1, {
		{ 0, 1, 1, true },
		{ 10, 1, 0, true },
		{ IO_HINT_TIMEOUT - 1, 0, 0, true },
		{ 1, 0, 0, false },
		{ 10, 0, 1, true },
		{ IO_HINT_HOLD, 0, 0, false },
	} },
};

KUNIT_ARRAY_PARAM_DESC(io_hint_hold, io_hint_hold_cases, name);

static void io_hint_hold_test(struct kunit *test)
{
	const struct io_hint_expiry_case *c = test->param_value;
	struct io_hint_test *t = test->priv;
	int i, pending = 0;

	t->classes[1].hold_ns = IO_HINT_HOLD;
	/* A hold of less than that has no effect. */
	t->hint.rush_ns[1] = IO_HINT_HOLD - 1;
	io_hint_test_now = c->start_ns;

	for (i = 0; i < ARRAY_SIZE(c->steps); i++) {
		const struct io_hint_step *s = &c->steps[i];
		u64 span;

		if (i && !s->after_ns)
			break;

		io_hint_test_now += s->after_ns;
		t->counts.own_published[1] += s->published;
		t->counts.own_withdrawn[1] += s->withdrawn;
		pending += s->published - s->withdrawn;
		span = pending ? IO_HINT_TIMEOUT : IO_HINT_HOLD;

		KUNIT_EXPECT_EQ_MSG(test, io_hint_test_look(t),
				    s->binds ? (s64)(10 * IO_HINT_US) : S64_MAX,
				    "step %d", i);
		if (s->binds)
			KUNIT_EXPECT_EQ_MSG(test, t->left + t->hint.age_ns,
					    span, "step %d", i);
	}
	KUNIT_EXPECT_EQ(test, t->hint.nr_expired, c->expired);
}

/* The same for a CPU that was woken too early; it ends by itself. */
static void io_hint_rush_test(struct kunit *test)
{
	struct io_hint_test *t = test->priv;

	/* I/O that was done before is not held. */
	t->counts.own_published[1] = 1;
	t->counts.own_withdrawn[1] = 1;
	t->counts.own_published[2] = 1;
	t->counts.own_withdrawn[2] = 1;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);
	t->hint.rush_ns[1] = IO_HINT_HOLD;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);

	/* Nor is that of another class. */
	t->counts.own_published[2]++;
	t->counts.own_withdrawn[2]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);

	t->counts.own_published[1]++;
	t->counts.own_withdrawn[1]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	KUNIT_EXPECT_TRUE(test, t->hint.held);
	KUNIT_EXPECT_EQ(test, t->left, IO_HINT_HOLD);
	io_hint_test_now += IO_HINT_HOLD - 1;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	t->counts.own_published[1]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	KUNIT_EXPECT_FALSE(test, t->hint.held);
	KUNIT_EXPECT_EQ(test, t->left, IO_HINT_TIMEOUT);
	t->counts.own_withdrawn[1]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	io_hint_test_now += IO_HINT_HOLD;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);

	/* That was the end of it. */
	t->counts.own_published[1]++;
	t->counts.own_withdrawn[1]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);

	/* It does not outlast the timeout, and neither cuts a hold time short, */
	t->hint.rush_ns[1] = 2 * IO_HINT_TIMEOUT;
	t->counts.own_published[1]++;
	t->counts.own_withdrawn[1]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	KUNIT_EXPECT_EQ(test, t->left, IO_HINT_TIMEOUT);
	t->classes[1].hold_ns = 3 * IO_HINT_TIMEOUT;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	KUNIT_EXPECT_EQ(test, t->left, 3 * IO_HINT_TIMEOUT);
	/* ... nor does more I/O. */
	t->counts.own_published[1]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	KUNIT_EXPECT_EQ(test, t->left, 3 * IO_HINT_TIMEOUT);
}

/* A class takes the place of another one: only its own I/O counts. */
static void io_hint_generation_test(struct kunit *test)
{
	struct io_hint_test *t = test->priv;

	t->counts.own_published[1] = 1;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	t->counts.own_withdrawn[1] = 1;
	t->classes[1].generation++;
	t->classes[1].hold_ns = 100 * IO_HINT_TIMEOUT;
	t->hint.rush_ns[1] = IO_HINT_TIMEOUT;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);
	KUNIT_EXPECT_EQ(test, t->hint.rush_ns[1], 0);
	t->counts.own_published[1]++;
	t->counts.own_withdrawn[1]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	KUNIT_EXPECT_EQ(test, t->left, 100 * IO_HINT_TIMEOUT);

	/* If I/O is the first that is seen of it, that counts. */
	t->counts.own_published[1]++;
	t->classes[1].generation++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
}

/* Several classes on one CPU: the strictest one that is pending counts. */
static void io_hint_classes_test(struct kunit *test)
{
	struct io_hint_test *t = test->priv;

	t->counts.own_published[2] = 1;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(100 * IO_HINT_US));

	/* The strictest, whether its index is lower ... */
	t->counts.own_published[1] = 1;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	KUNIT_EXPECT_EQ(test, t->left, IO_HINT_TIMEOUT);

	/* ... or higher; what is left of the timeout is its own. */
	t->active |= BIT(3);
	t->counts.own_published[3] = 1;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), 0);
	KUNIT_EXPECT_EQ(test, t->left, IO_HINT_TIMEOUT / 2);

	/* They expire one by one. */
	io_hint_test_now += IO_HINT_TIMEOUT / 2;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	KUNIT_EXPECT_EQ(test, t->left, IO_HINT_TIMEOUT / 2);
	io_hint_test_now += IO_HINT_TIMEOUT / 2;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(100 * IO_HINT_US));
	KUNIT_EXPECT_EQ(test, t->left, IO_HINT_TIMEOUT);

	t->counts.own_withdrawn[2] = 1;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);

	/* A class that nobody uses any more does not count, pending or not. */
	t->counts.own_published[1]++;
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), (s64)(10 * IO_HINT_US));
	t->active &= ~BIT(1);
	KUNIT_EXPECT_EQ(test, io_hint_test_look(t), S64_MAX);
}

/* Idle costs no clock read unless something is pending, and then one. */
static void io_hint_clock_test(struct kunit *test)
{
	struct io_hint_test *t = test->priv;

	io_hint_test_look(t);
	KUNIT_EXPECT_EQ(test, io_hint_test_clock_reads, 0);

	io_hint_test_now = 0;
	t->counts.own_published[1] = 1;
	t->counts.own_published[2] = 1;
	io_hint_test_look(t);
	KUNIT_EXPECT_EQ(test, io_hint_test_clock_reads, 1);

	/* Once all have expired, none either. */
	io_hint_test_now += 2 * IO_HINT_TIMEOUT;
	io_hint_test_look(t);
	KUNIT_EXPECT_EQ(test, io_hint_test_clock_reads, 2);
	io_hint_test_look(t);
	KUNIT_EXPECT_EQ(test, io_hint_test_clock_reads, 2);
}

/* Idle state tables, what hints and PM QoS ask for, and what comes out. */
#define IO_HINT_POLL	{ .flags = CPUIDLE_FLAG_POLLING }
#define IO_HINT_STATE(us)	{ .exit_latency_ns = (us) * NSEC_PER_USEC }

static const struct cpuidle_driver io_hint_icx = {
	.states = { IO_HINT_POLL, IO_HINT_STATE(1), IO_HINT_STATE(4), IO_HINT_STATE(170) },
	.state_count = 4,
};

static const struct cpuidle_driver io_hint_arm = {
	.states = { IO_HINT_STATE(1), IO_HINT_STATE(250), IO_HINT_STATE(500) },
	.state_count = 3,
};

/* Firmware that reports an exit latency of 0. */
static const struct cpuidle_driver io_hint_zero = {
	.states = { IO_HINT_POLL, IO_HINT_STATE(0), IO_HINT_STATE(400) },
	.state_count = 3,
};

static const struct cpuidle_driver io_hint_poll_only = {
	.states = { IO_HINT_POLL },
	.state_count = 1,
};

#define IO_HINT_QOS_NONE	((s64)PM_QOS_RESUME_LATENCY_NO_CONSTRAINT * NSEC_PER_USEC)

struct io_hint_bind_case {
	const char			*name;
	const struct cpuidle_driver	*drv;
	unsigned long			disabled;
	s64				limit_ns, qos_ns, result_ns;
};

static const struct io_hint_bind_case io_hint_bind_cases[] = {
	{ "between two states", &io_hint_icx, 0,
	  10000, IO_HINT_QOS_NONE, 10000 },
	{ "exactly a state", &io_hint_icx, 0,
	  4000, IO_HINT_QOS_NONE, 4000 },
	{ "1 ns under a state", &io_hint_icx, 0,
	  3999, IO_HINT_QOS_NONE, 3999 },
	{ "limit 0: first state that does not poll", &io_hint_icx, 0,
	  0, IO_HINT_QOS_NONE, 1000 },
	{ "under the first state that does not poll", &io_hint_icx, 0,
	  999, IO_HINT_QOS_NONE, 1000 },
	{ "that state disabled: the next one", &io_hint_icx, BIT(1),
	  0, IO_HINT_QOS_NONE, 4000 },
	{ "only one state left, and it is deep", &io_hint_icx, BIT(1) | BIT(2),
	  0, IO_HINT_QOS_NONE, IO_HINT_QOS_NONE },
	{ "all disabled but polling", &io_hint_icx, BIT(1) | BIT(2) | BIT(3),
	  0, IO_HINT_QOS_NONE, IO_HINT_QOS_NONE },
	{ "deepest disabled: nothing to rule out", &io_hint_icx, BIT(3),
	  10000, IO_HINT_QOS_NONE, IO_HINT_QOS_NONE },
	{ "as deep as the deepest", &io_hint_icx, 0,
	  170000, IO_HINT_QOS_NONE, IO_HINT_QOS_NONE },
	{ "deeper than the deepest", &io_hint_icx, 0,
	  1000000, IO_HINT_QOS_NONE, IO_HINT_QOS_NONE },
	{ "QoS stricter than the hint", &io_hint_icx, 0,
	  10000, 2000, 2000 },
	{ "QoS equal", &io_hint_icx, 0,
	  10000, 10000, 10000 },
	{ "QoS looser, allows no more states", &io_hint_icx, 0,
	  10000, 169999, 169999 },
	{ "QoS looser, allows one more", &io_hint_icx, 0,
	  10000, 170000, 10000 },
	{ "QoS 0: polling is what QoS wants", &io_hint_icx, 0,
	  0, 0, 0 },
	{ "QoS under the first state, limit 0", &io_hint_icx, 0,
	  0, 500, 500 },
	{ "state 0 does not poll", &io_hint_arm, 0,
	  0, IO_HINT_QOS_NONE, 1000 },
	{ "state 0 does not poll, and is disabled", &io_hint_arm, BIT(0),
	  0, IO_HINT_QOS_NONE, 250000 },
	{ "exit latency of 0 does not mean poll", &io_hint_zero, 0,
	  0, IO_HINT_QOS_NONE, 1 },
	{ "nothing but polling", &io_hint_poll_only, 0,
	  0, IO_HINT_QOS_NONE, IO_HINT_QOS_NONE },
};

KUNIT_ARRAY_PARAM_DESC(io_hint_bind, io_hint_bind_cases, name);

static struct cpuidle_device *io_hint_test_dev(struct kunit *test,
					       const struct cpuidle_driver *drv,
					       unsigned long disabled)
{
	struct cpuidle_device *dev;
	int i;

	dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	for (i = 0; i < drv->state_count; i++) {
		if (disabled & BIT(i))
			dev->states_usage[i].disable =
				CPUIDLE_STATE_DISABLED_BY_USER;
	}

	return dev;
}

static void io_hint_bind_test(struct kunit *test)
{
	const struct io_hint_bind_case *c = test->param_value;
	struct cpuidle_device *dev = io_hint_test_dev(test, c->drv, c->disabled);

	KUNIT_EXPECT_EQ(test, io_hint_bind(c->drv, dev, c->limit_ns, c->qos_ns),
			c->result_ns);
}

/* Which classes forbid which states, of a few with limits of 0 to 1000 us. */
struct io_hint_too_deep_case {
	const char			*name;
	const struct cpuidle_driver	*drv;
	unsigned long			disabled;
	int				index;
	u32				too_deep;
};

static const struct io_hint_too_deep_case io_hint_too_deep_cases[] = {
	{ "polling", &io_hint_icx, 0, 0, 0 },
	{ "shallowest", &io_hint_icx, 0, 1, 0 },
	{ "next: only for a limit of 0", &io_hint_icx, 0, 2, BIT(3) },
	{ "deepest", &io_hint_icx, 0, 3, BIT(1) | BIT(2) | BIT(3) },
	{ "shallowest that is enabled", &io_hint_icx, BIT(1), 2, 0 },
	{ "nothing else enabled", &io_hint_icx, BIT(1) | BIT(2), 3, 0 },
	{ "nothing else enabled but polling", &io_hint_zero, BIT(1), 2, 0 },
	{ "exit latency of 0", &io_hint_zero, 0, 1, 0 },
	{ "state 0 does not poll", &io_hint_arm, 0, 0, 0 },
	{ "between two states", &io_hint_arm, 0, 1, BIT(1) | BIT(2) | BIT(3) },
};

KUNIT_ARRAY_PARAM_DESC(io_hint_too_deep, io_hint_too_deep_cases, name);

static void io_hint_too_deep_test(struct kunit *test)
{
	const struct io_hint_too_deep_case *c = test->param_value;
	struct io_hint_test *t = test->priv;
	struct cpuidle_device *dev = io_hint_test_dev(test, c->drv, c->disabled);

	/* One that no state exceeds, and one that nobody uses */
	t->classes[4] = (struct io_hint_class){ 1000 * IO_HINT_US, IO_HINT_TIMEOUT, 0, 1 };
	t->classes[5] = (struct io_hint_class){ 0, IO_HINT_TIMEOUT, 0, 1 };
	t->active = BIT(1) | BIT(2) | BIT(3) | BIT(4);
	KUNIT_EXPECT_EQ(test, io_hint_too_deep(c->drv, dev, t->classes,
					       t->active, c->index),
			c->too_deep);
}

/*
 * Before a deep state: for which classes the CPU can be woken, and what it makes
 * of a hint that has come up since the governor has asked.
 */
struct io_hint_again_case {
	const char			*name;
	unsigned long			disabled;
	unsigned long			active;
	int				pending;
	int				index, result;
	u32				too_deep;
};

static const struct io_hint_again_case io_hint_again_cases[] = {
	{ "nothing pending", 0, BIT(1) | BIT(2), 0, 3, 3, BIT(1) | BIT(2) },
	{ "not deep", 0, BIT(1) | BIT(2), 1, 2, 2, 0 },
	{ "no class in use", 0, 0, 1, 3, 3, 0 },
	{ "strict", 0, BIT(1) | BIT(2), 1, 3, 2, 0 },
	{ "lax", 0, BIT(1) | BIT(2), 2, 3, 2, 0 },
	{ "next one disabled", BIT(2), BIT(1), 1, 3, 1, 0 },
	{ "limit of 0", 0, BIT(3), 3, 3, 1, 0 },
	{ "a stricter one can still wake it", 0, BIT(1) | BIT(3), 1, 3, 2, BIT(3) },
	{ "nothing else enabled", BIT(1) | BIT(2), BIT(1), 1, 3, 3, 0 },
};

KUNIT_ARRAY_PARAM_DESC(io_hint_again, io_hint_again_cases, name);

static int io_hint_test_again(struct io_hint_test *t, const struct cpuidle_driver *drv,
			      const struct cpuidle_device *dev, int index)
{
	s64 limit;

	return io_hint_look_again(&t->hint, &t->counts, t->classes, t->active,
				  io_hint_test_clock, drv, dev, index, &limit,
				  &t->left);
}

static void io_hint_again_test(struct kunit *test)
{
	const struct io_hint_again_case *c = test->param_value;
	struct io_hint_test *t = test->priv;
	struct cpuidle_device *dev = io_hint_test_dev(test, &io_hint_icx, c->disabled);

	t->active = c->active;
	t->counts.too_deep = BIT(7);
	atomic_set(&t->counts.far_published[c->pending], 1);

	KUNIT_EXPECT_EQ(test, io_hint_test_again(t, &io_hint_icx, dev, c->index),
			c->result);
	KUNIT_EXPECT_EQ(test, t->counts.too_deep, c->too_deep);
	KUNIT_EXPECT_EQ(test, t->hint.deep_ns, c->too_deep ?
			io_hint_icx.states[c->result].exit_latency_ns : 0);
	if (c->result == c->index)
		return;

	/* Once it has expired, it does not count here either. */
	io_hint_test_now += 2 * IO_HINT_TIMEOUT;
	KUNIT_EXPECT_EQ(test, io_hint_test_again(t, &io_hint_icx, dev, c->index),
			c->index);
	KUNIT_EXPECT_NE(test, t->hint.deep_ns, 0);
}

/* After a deep state: was the CPU woken, and too early? */
struct io_hint_cut_case {
	const char	*name;
	s64		deep_ns;
	u32		too_deep;
	s64		slept_ns;
	u64		rush_ns;
};

#define IO_HINT_WOKEN(class)	(BIT(class) << IO_HINT_WOKEN_SHIFT)

static const struct io_hint_cut_case io_hint_cut_cases[] = {
	{ "not deep", 0, 0, 1000, 0 },
	{ "not woken", 170000, BIT(1), 1000, 0 },
	{ "woken", 170000, IO_HINT_WOKEN(1), 1000, 600000 },
	{ "just too early", 170000, IO_HINT_WOKEN(1), 599999, 600000 },
	{ "long enough", 170000, IO_HINT_WOKEN(1), 600000, 0 },
	{ "never slept", 170000, IO_HINT_WOKEN(1), -170000, 600000 },
};

KUNIT_ARRAY_PARAM_DESC(io_hint_cut, io_hint_cut_cases, name);

static void io_hint_cut_test(struct kunit *test)
{
	const struct io_hint_cut_case *c = test->param_value;
	struct io_hint_test *t = test->priv;
	struct cpuidle_device *dev = io_hint_test_dev(test, &io_hint_icx, 0);

	dev->last_residency_ns = c->deep_ns + c->slept_ns;
	t->hint.deep_ns = c->deep_ns;
	t->hint.pays_ns = 600000;
	t->counts.too_deep = c->too_deep;
	KUNIT_EXPECT_EQ(test, io_hint_cut_short(&t->hint, &t->counts, dev),
			c->rush_ns != 0);
	KUNIT_EXPECT_EQ(test, t->hint.rush_ns[1], c->rush_ns);
	KUNIT_EXPECT_EQ(test, t->hint.rush_ns[2], 0);
	KUNIT_EXPECT_EQ(test, t->hint.deep_ns, 0);
}

/* The public side: what is published here, from any CPU, arrives there. */
struct io_hint_publish_work {
	struct work_struct	work;
	int			class;
	unsigned int		cpu;
	bool			withdraw;
	bool			wake;
};

static void io_hint_publish_work_fn(struct work_struct *work)
{
	struct io_hint_publish_work *w =
		container_of(work, struct io_hint_publish_work, work);

	if (w->withdraw)
		cpuidle_io_hint_withdraw(w->class, w->cpu);
	else
		cpuidle_io_hint_publish(w->class, w->cpu, w->wake);
}

static void io_hint_publish_on(unsigned int by, int class, unsigned int cpu,
			       bool withdraw, bool wake)
{
	struct io_hint_publish_work w = {
		.class = class, .cpu = cpu, .withdraw = withdraw, .wake = wake,
	};

	INIT_WORK_ONSTACK(&w.work, io_hint_publish_work_fn);
	schedule_work_on(by, &w.work);
	flush_work(&w.work);
	destroy_work_on_stack(&w.work);
}

static void io_hint_publish_test(struct kunit *test)
{
	unsigned int first = cpumask_first(cpu_online_mask);
	unsigned int other = cpumask_next(first, cpu_online_mask);
	struct cpuidle_io_hint_counts *counts;
	int class, round, users;

	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs online");

	/* A limit that no state exceeds, a timeout that nobody else has */
	users = static_key_count(&cpuidle_io_hint_enabled.key);
	class = cpuidle_io_hint_get(S64_MAX, 12345678, 0);
	KUNIT_ASSERT_GT(test, class, 0);
	KUNIT_EXPECT_EQ(test, static_key_count(&cpuidle_io_hint_enabled.key),
			users + 1);
	counts = per_cpu_ptr(&cpuidle_io_hint_counts, first);

	/* For @first, published and withdrawn by either CPU: all four ways */
	for (round = 0; round < 4; round++) {
		unsigned int by = round & 1 ? other : first;
		unsigned int back = round & 2 ? other : first;
		struct cpuidle_io_hint_counts old = *counts;

		io_hint_publish_on(by, class, first, false, false);
		KUNIT_EXPECT_EQ(test, io_hint_pending_on(first, class), 1);
		KUNIT_EXPECT_EQ(test, io_hint_pending_on(other, class), 0);
		io_hint_publish_on(back, class, first, true, false);
		KUNIT_EXPECT_EQ(test, io_hint_pending_on(first, class), 0);
		KUNIT_EXPECT_EQ(test, io_hint_pending_anywhere(class), 0);

		/* Each CPU has counted in its own place. */
		KUNIT_EXPECT_EQ(test, counts->own_published[class],
				old.own_published[class] + (by == first));
		KUNIT_EXPECT_EQ(test, counts->own_withdrawn[class],
				old.own_withdrawn[class] + (back == first));
		KUNIT_EXPECT_EQ(test,
				atomic_read(&counts->far_published[class]),
				atomic_read(&old.far_published[class]) +
				(by != first));
		KUNIT_EXPECT_EQ(test,
				atomic_read(&counts->far_withdrawn[class]),
				atomic_read(&old.far_withdrawn[class]) +
				(back != first));
	}

	cpuidle_io_hint_put(class);
	KUNIT_EXPECT_EQ(test, static_key_count(&cpuidle_io_hint_enabled.key),
			users);
}

static void io_hint_test_nothing(void *unused)
{
}

/*
 * Who is woken: a CPU that says that it sleeps too deeply for the class, once.
 *
 * While the hints are in use, the idle path would change what it says.
 */
static void io_hint_wake_test(struct kunit *test)
{
	unsigned int first = cpumask_first(cpu_online_mask);
	unsigned int other = cpumask_next(first, cpu_online_mask);
	struct io_hint_cpu *hint = per_cpu_ptr(&io_hint_cpus, other);
	u32 *too_deep = per_cpu_ptr(&cpuidle_io_hint_counts.too_deep, other);
	static const struct {
		unsigned int	by;
		int		class;
		bool		wake;
		u32		before, after;
	} steps[] = {
		{ 0, 3, true,	0, 0 },
		{ 0, 3, false,	BIT(3), BIT(3) },
		{ 0, 2, true,	BIT(3) | BIT(5), BIT(3) | BIT(5) },
		{ 0, 3, true,	BIT(3) | BIT(5), IO_HINT_WOKEN(3) },
		{ 0, 3, true,	IO_HINT_WOKEN(3), IO_HINT_WOKEN(3) },
		{ 0, 5, true,	0, 0 },
		{ 1, 3, true,	BIT(3), BIT(3) },
	};
	int i;

	if (other >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs online");
	if (static_key_enabled(&cpuidle_io_hint_enabled))
		kunit_skip(test, "the hints are in use");

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		unsigned long woken = READ_ONCE(hint->nr_woken);

		WRITE_ONCE(*too_deep, steps[i].before);
		io_hint_publish_on(steps[i].by ? other : first, steps[i].class,
				   other, false, steps[i].wake);
		io_hint_publish_on(first, steps[i].class, other, true, false);
		/* What has been sent is run with the first, maybe after it. */
		smp_call_function_single(other, io_hint_test_nothing, NULL, 1);
		smp_call_function_single(other, io_hint_test_nothing, NULL, 1);
		KUNIT_EXPECT_EQ_MSG(test, *too_deep, steps[i].after,
				    "step %d", i);
		KUNIT_EXPECT_EQ_MSG(test, READ_ONCE(hint->nr_woken) - woken,
				    steps[i].before != steps[i].after,
				    "step %d", i);
	}

	/* While one is on its way, no second one is sent: it is queued once. */
	WRITE_ONCE(*too_deep, BIT(3));
	atomic_set(&hint->waking, 1);
	i = READ_ONCE(hint->nr_woken);
	io_hint_publish_on(first, 3, other, false, true);
	io_hint_publish_on(first, 3, other, true, false);
	smp_call_function_single(other, io_hint_test_nothing, NULL, 1);
	smp_call_function_single(other, io_hint_test_nothing, NULL, 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(hint->nr_woken), i);
	atomic_set(&hint->waking, 0);
	WRITE_ONCE(*too_deep, 0);
}

static int io_hint_test_pending;

static int io_hint_test_is_pending(int i)
{
	return i == io_hint_test_pending;
}

static int io_hint_test_find(const struct io_hint_class *classes, u64 limit_us,
			     u64 timeout_ns, u64 hold_ns)
{
	struct io_hint_class want = {
		.limit_ns = limit_us * IO_HINT_US,
		.timeout_ns = timeout_ns,
		.hold_ns = hold_ns,
	};

	return io_hint_find(classes, &want, io_hint_test_is_pending);
}

/* Which class new settings get: shared, free, never one with I/O in flight */
static void io_hint_find_test(struct kunit *test)
{
	struct io_hint_class classes[CPUIDLE_IO_HINT_CLASSES] = {};
	const u64 timeout = IO_HINT_TIMEOUT;
	int i;

	io_hint_test_pending = 0;
	for (i = 1; i < CPUIDLE_IO_HINT_CLASSES; i++) {
		KUNIT_EXPECT_EQ(test, io_hint_test_find(classes, i, timeout, 7), i);
		classes[i] = (struct io_hint_class){ i * IO_HINT_US, timeout, 7, 1 };
	}

	/* All are in use: others can only share. */
	KUNIT_EXPECT_EQ(test, io_hint_test_find(classes, 99, timeout, 7), 0);
	KUNIT_EXPECT_EQ(test, io_hint_test_find(classes, 3, timeout, 7), 3);
	KUNIT_EXPECT_EQ(test, io_hint_test_find(classes, 3, timeout + 1, 7), 0);
	KUNIT_EXPECT_EQ(test, io_hint_test_find(classes, 3, timeout, 0), 0);

	/* Given back with I/O in flight: for the same settings only. */
	classes[5].users = 0;
	io_hint_test_pending = 5;
	KUNIT_EXPECT_EQ(test, io_hint_test_find(classes, 99, timeout, 7), 0);
	KUNIT_EXPECT_EQ(test, io_hint_test_find(classes, 5, timeout, 7), 5);
	io_hint_test_pending = 0;
	KUNIT_EXPECT_EQ(test, io_hint_test_find(classes, 99, timeout, 7), 5);

	KUNIT_EXPECT_EQ(test, cpuidle_io_hint_get((u64)S64_MAX + 1, 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, cpuidle_io_hint_get(1, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, cpuidle_io_hint_get(1, (u64)S64_MAX + 1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, cpuidle_io_hint_get(1, 1, (u64)S64_MAX + 1), -EINVAL);
}

static struct kunit_case io_hint_test_cases[] = {
	KUNIT_CASE_PARAM(io_hint_pending_test, io_hint_pending_gen_params),
	KUNIT_CASE_PARAM(io_hint_expiry_test, io_hint_expiry_gen_params),
	KUNIT_CASE_PARAM(io_hint_expiry_wrap_test, io_hint_expiry_gen_params),
	KUNIT_CASE_PARAM(io_hint_hold_test, io_hint_hold_gen_params),
	KUNIT_CASE(io_hint_rush_test),
	KUNIT_CASE(io_hint_generation_test),
	KUNIT_CASE(io_hint_classes_test),
	KUNIT_CASE(io_hint_clock_test),
	KUNIT_CASE_PARAM(io_hint_bind_test, io_hint_bind_gen_params),
	KUNIT_CASE_PARAM(io_hint_too_deep_test, io_hint_too_deep_gen_params),
	KUNIT_CASE_PARAM(io_hint_again_test, io_hint_again_gen_params),
	KUNIT_CASE_PARAM(io_hint_cut_test, io_hint_cut_gen_params),
	KUNIT_CASE(io_hint_publish_test),
	KUNIT_CASE(io_hint_wake_test),
	KUNIT_CASE(io_hint_find_test),
	{}
};

static struct kunit_suite io_hint_test_suite = {
	.name = "cpuidle_io_hint",
	.init = io_hint_test_init,
	.test_cases = io_hint_test_cases,
};

kunit_test_suite(io_hint_test_suite);
