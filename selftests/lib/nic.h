/* SPDX-License-Identifier: GPL-2.0-only */
/* nic: the two RDMA devices of the wire, which come and go. */
#ifndef TE_TEST_NIC_H
#define TE_TEST_NIC_H

#include <stdbool.h>

#define NR_NICS	2

bool nic_is_siw(void);

/* Waits for whoever uses it. 0 or -EIO; @nic is 0 or 1. */
int nic_delete(int nic);

/* Waits until its removal has begun: 0 or -ETIME. */
int nic_await_going(int nic);

/* Back again, with its addresses. 0, -EIO, -ETIME. */
int nic_add(int nic);

/* Address that the second one can have instead of its own. */
#define NIC_OTHER_ADDR	"10.77.0.12"

/* It gets that; the machine has the usual one still, elsewhere. 0 or -EIO. */
int nic_move(void);

/* It has its own again. */
int nic_move_back(void);

#endif
