# SPDX-License-Identifier: GPL-2.0
#
# Fills in insn_per_io: the median time of a read on the device that completes
# at once, less that of the same kernel, governor, machine and seed with "off".
#
# usage: awk -F, -v OFS=, -f bench-insn.awk INSN.CSV RESULTS.CSV

# kernel,machine,seed,governor,variant,ns
NR == FNR {
	ns[$1, $4, $2, $3, $5] = $6
	next
}

{
	mine = $1 SUBSEP $2 SUBSEP $3 SUBSEP $7 SUBSEP $6
	off = $1 SUBSEP $2 SUBSEP $3 SUBSEP $7 SUBSEP "off"
	if (mine in ns && off in ns)
		$25 = ns[mine] - ns[off]
	print
}
