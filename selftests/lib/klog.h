/* SPDX-License-Identifier: GPL-2.0-only */
/* klog: what the kernel logs from now on. */
#ifndef TE_TEST_KLOG_H
#define TE_TEST_KLOG_H

/* A descriptor for the others, to be closed; -1. */
int klog_open(void);

/* Not what was logged until now. */
void klog_skip(int fd);

/* Waits for a line with @a, 0, or with @b if that is not NULL, 1; -ETIME, printed. */
int klog_wait(int fd, const char *a, const char *b);

#endif
