// SPDX-License-Identifier: GPL-2.0
/*
 * The haltpoll governor, where the kernel does not offer it
 *
 * It registers itself in KVM guests only, and the guests of the lab are none.
 * It is in the kernel all the same, so this module does what it leaves out.
 * Neither the governor nor the function that registers one is exported: their
 * addresses are those in System.map, with a kernel that is not relocated.
 *
 * Governors cannot be unregistered: the module may be unloaded, haltpoll stays.
 */

#include <linux/cpuidle.h>
#include <linux/module.h>

static unsigned long governor;
module_param(governor, ulong, 0444);
MODULE_PARM_DESC(governor, "Address of haltpoll_governor");

static unsigned long registration;
module_param(registration, ulong, 0444);
MODULE_PARM_DESC(registration, "Address of cpuidle_register_governor()");

static int __init lab_haltpoll_init(void)
{
	int (*register_governor)(struct cpuidle_governor *gov);

	if (!governor || !registration)
		return -EINVAL;

	register_governor = (void *)registration;
	return register_governor((void *)governor);
}

static void __exit lab_haltpoll_exit(void)
{
}

module_init(lab_haltpoll_init);
module_exit(lab_haltpoll_exit);

MODULE_DESCRIPTION("Registers the haltpoll governor, for tests");
MODULE_LICENSE("GPL");
