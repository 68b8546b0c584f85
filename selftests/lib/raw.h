/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * raw: /dev/te without libte. Thin wrappers over the ioctls, each returning 0
 * or -errno, and a context with both areas mapped. For tests whose subject is
 * the ioctl interface or the mapped areas themselves; builds for 32 bits too.
 */
#ifndef TE_TEST_RAW_H
#define TE_TEST_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <linux/te.h>

#define TE_DEVICE "/dev/te"

/**
 * struct raw - a context
 * @fd: descriptor, -1 when closed
 * @setup: as answered by TE_IOC_SETUP
 * @slots: status slots, mapped
 * @ring: header of the completion ring, mapped
 * @entries: entries of the completion ring
 */
struct raw {
	int fd;
	struct te_ioc_setup setup;
	const struct te_slot *slots;
	struct te_ring_hdr *ring;
	const struct te_completion *entries;
};

/* The address that tests reach this guest's own segments by, and its name. */
const char *te_peer_addr(void);

/* A segment name nobody else uses, valid until the fourth call after it. */
const char *te_unique_name(void);

int raw_ioctl(int fd, unsigned long cmd, void *arg);
int raw_info(struct te_ioc_info *info);

/* Opens and sets up; maps both areas. 0 entries or slots: the default. */
int raw_open(struct raw *r, uint32_t cq_entries, uint32_t task_slots);
void raw_close(struct raw *r);

int raw_mr(int fd, void *addr, size_t len, uint32_t access, uint32_t *mr);
int raw_unmr(int fd, uint32_t mr, uint32_t flags);
int raw_export(int fd, const char *name);
int raw_segment(int fd, const char *name, uint32_t *segment);
int raw_segment_close(int fd, uint32_t segment);
int raw_batch(int fd, uint32_t nr, uint32_t entries, uint32_t *batch);
int raw_submit(int fd, uint32_t batch, const struct te_request *r, uint32_t nr);
int raw_wait(int fd, uint32_t batch, int timeout_ms);
int raw_wait_entries(int fd, uint32_t nr, int timeout_ms);
int raw_free(int fd, uint32_t batch);

/* TE_*: of $TE_TRANSPORT (any, rdma, tcp, local); without it TE_RDMA. */
uint32_t raw_transport(void);
/* Fills in a good open argument for this guest's segment @name. */
void raw_fill_open(struct te_ioc_segment_open *o, const char *name);

/* Takes the next entry of the ring: 1, or 0 when it is empty. */
int raw_next(struct raw *r, struct te_completion *c);

#endif
