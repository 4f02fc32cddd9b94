/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cpuidle_io_hint

#if !defined(_TRACE_CPUIDLE_IO_HINT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_CPUIDLE_IO_HINT_H

#include <linux/tracepoint.h>

/*
 * Decisions only, not every publication: what publishers do is visible in the
 * events of their own layer (block_rq_issue, block_rq_complete).
 */

/* A hint rules out states that the QoS limits allow; @state is entered. */
TRACE_EVENT(cpuidle_io_hint_cap,

	TP_PROTO(unsigned int cpu, int state, u64 limit_ns, u64 age_ns),

	TP_ARGS(cpu, state, limit_ns, age_ns),

	TP_STRUCT__entry(
		__field(u64,		limit_ns)
		__field(u64,		age_ns)
		__field(unsigned int,	cpu)
		__field(int,		state)
	),

	TP_fast_assign(
		__entry->limit_ns = limit_ns;
		__entry->age_ns = age_ns;
		__entry->cpu = cpu;
		__entry->state = state;
	),

	TP_printk("cpu_id=%u state=%d limit_ns=%llu age_ns=%llu",
		  __entry->cpu, __entry->state, __entry->limit_ns,
		  __entry->age_ns)
);

/* A hint is still pending, but has seen no activity for its timeout. */
TRACE_EVENT(cpuidle_io_hint_expire,

	TP_PROTO(unsigned int cpu, u64 limit_ns, u64 timeout_ns,
		 unsigned int pending),

	TP_ARGS(cpu, limit_ns, timeout_ns, pending),

	TP_STRUCT__entry(
		__field(u64,		limit_ns)
		__field(u64,		timeout_ns)
		__field(unsigned int,	cpu)
		__field(unsigned int,	pending)
	),

	TP_fast_assign(
		__entry->limit_ns = limit_ns;
		__entry->timeout_ns = timeout_ns;
		__entry->cpu = cpu;
		__entry->pending = pending;
	),

	TP_printk("cpu_id=%u limit_ns=%llu timeout_ns=%llu pending=%u",
		  __entry->cpu, __entry->limit_ns, __entry->timeout_ns,
		  __entry->pending)
);

/* A CPU sleeps in a state with an exit latency over the limit, and is woken. */
TRACE_EVENT(cpuidle_io_hint_wake,

	TP_PROTO(unsigned int cpu, u64 limit_ns),

	TP_ARGS(cpu, limit_ns),

	TP_STRUCT__entry(
		__field(u64,		limit_ns)
		__field(unsigned int,	cpu)
	),

	TP_fast_assign(
		__entry->limit_ns = limit_ns;
		__entry->cpu = cpu;
	),

	TP_printk("cpu_id=%u limit_ns=%llu", __entry->cpu, __entry->limit_ns)
);

#endif /* _TRACE_CPUIDLE_IO_HINT_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
