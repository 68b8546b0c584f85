/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session/serve: the answering side of one open segment, for serve.c, which makes
 * it and hears of what changes, and say.c, which tells the peer. Nobody else
 * includes it.
 */
#ifndef TE_SESSION_SERVE_H
#define TE_SESSION_SERVE_H

#include "session/priv.h"

/* Ids of regions that went and have not been told. */
#define TE_SERVE_MAX_WENT	128
/* Regions to be described again. */
#define TE_SERVE_MAX_REDO	16
/* Regions described by one frame; their keys follow. */
#define TE_SERVE_BATCH		16

/**
 * struct te_serve - an open segment, answering side
 * @watch: on the space
 * @session: borrowed: it outlives its te_serves
 * @space: holds a reference; NULL when opening failed or it has gone
 * @news: on te_session.news, protected by te_session.lock like what follows
 * @dead: the space has gone
 * @came: a region came
 * @sweep: went[] was too short
 * @nr_went: entries of @went
 * @went: ids of regions that went
 * @nr_redo: entries of @redo
 * @redo: ids of regions to be described, behind @cursor
 * @cursor: ids below have been looked at; written by the actor
 * @busy: on te_session.busy; actor, like all below
 * @cookie: the peer's number
 * @handle: our number, not 0
 * @status: of opening, TE_WIRE_*
 * @end_code: why it ends, TE_WIRE_OK: it does not yet
 * @opened_said: SEG_OPENED sent
 * @devs_due: SEG_DEVS is to be sent, for the first time or again
 * @devs_gone: ids of devs that SEG_DEVS told of and that have gone since
 * @ready_said: SEG_READY sent
 * @gone_said: SEG_GONE sent
 * @close_heard: SEG_CLOSE came
 * @walking: regions may be behind @cursor
 * @sweeping: ids from @sweep_id to @cursor are to be compared
 * @sweep_id: next id of the sweep
 * @dev_mask: ids of devs that SEG_DEVS told of
 * @rekey: ids of devs whose keys are due for regions below @cursor
 * @rekey_id: region whose turn it is, or next one
 * @rekey_devs: ids of devs whose keys are due for that region
 * @rekey_first: next key of the lowest of them
 * @far_said: SEG_FAR has told of devs that are far from some region
 * @refar: SEG_FAR is due again for regions below @cursor, from @far_id on
 * @far_id: next region of those
 * @nr_batch: entries of @batch
 * @at: region of @batch whose keys are due
 * @batch: described, keys are due from @at on
 * @far_due: SEG_FAR is due for all of @batch
 * @key_devs: devs of batch[@at] whose keys are due
 * @key_first: next key of the lowest of them
 */
struct te_serve {
	struct te_watch watch;
	struct te_session *session;
	struct te_space *space;
	struct list_head news;
	bool dead;
	bool came;
	bool sweep;
	u32 nr_went;
	u32 went[TE_SERVE_MAX_WENT];
	u32 nr_redo;
	u32 redo[TE_SERVE_MAX_REDO];
	u32 cursor;

	struct list_head busy;
	u32 cookie;
	u32 handle;
	u32 status;
	u32 end_code;
	bool opened_said;
	bool devs_due;
	u32 devs_gone;
	bool ready_said;
	bool gone_said;
	bool close_heard;
	bool walking;
	bool sweeping;
	u32 sweep_id;
	u32 dev_mask;
	u32 rekey;
	u32 rekey_id;
	u32 rekey_devs;
	u32 rekey_first;
	bool far_said;
	bool refar;
	u32 far_id;
	u32 nr_batch;
	u32 at;
	struct te_mr_desc batch[TE_SERVE_BATCH];
	bool far_due;
	u32 key_devs;
	u32 key_first;
};

/* ---- serve.c */
/* It is over, or the session is: gives everything back. Actor. */
void te_serve_destroy(struct te_serve *v);
/* From the first region on: keys on @devs are to be said once more. Actor. */
void te_serve_rekey(struct te_serve *v, u32 devs);
/* What is far from regions that were described is to be said again. Actor. */
void te_serve_refar(struct te_serve *v);
/* A region is to be described again. te_session.lock held. */
void te_serve_redo_locked(struct te_serve *v, u32 id);

#endif /* TE_SESSION_SERVE_H */
