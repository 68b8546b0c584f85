/* SPDX-License-Identifier: GPL-2.0-only */
/* module: takes te out of the kernel and puts it back, with other parameters. */
#ifndef TE_TEST_MODULE_H
#define TE_TEST_MODULE_H

#include <stddef.h>

/* One try: 0, -EWOULDBLOCK or -EBUSY while somebody uses it. */
int module_unload(void);

/*
 * Right after close the references may still be on their way: tries until it
 * goes, and waits for the device node to go too.
 */
int module_unload_soon(void);

/* The te.ko that TE_MODULE names; waits for the device node. */
int module_load(const char *params);

/* Both, for another set of parameters. */
int module_reload(const char *params);

/* The qp_timeout that te has, as a parameter: run.sh gives slow kernels one. */
int module_qp_timeout(char *param, size_t len);

/* One of those that may be changed while te is loaded: 0 or -errno. */
int module_set(const char *param, const char *value);

#endif
