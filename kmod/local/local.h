/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * local: segments of this node. One te_dev; its movers copy between the two sets
 * of pinned pages.
 */
#ifndef TE_LOCAL_ROOM_H
#define TE_LOCAL_ROOM_H

int te_local_init(void);
void te_local_exit(void);

#endif /* TE_LOCAL_ROOM_H */
