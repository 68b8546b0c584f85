// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/pace: how many bytes an endpoint may have on the way.
 *
 * About as many as it moves in TE_PACE: enough for a fast network, little enough
 * that a slow rail, which pulls as well as the others, does not hold up the end of a
 * task that they share, and that nothing waits on the way for so long that the NIC
 * sends it again. How long slices take tells: as long as that is little, the window
 * doubles each time that it has gone over; then it grows by a slice, and when it is
 * too long, it is halved, or more. That is how rails that share a bottleneck come to
 * equal shares of it (Chiu and Jain 1989).
 */
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "worker/internal.h"

/* Below what a packet may wait for its answer, see qp_timeout. */
#define TE_PACE		msecs_to_jiffies(50)
#define TE_PACE_MIN	(2U * TE_SLICE_BYTES)
#define TE_PACE_FIRST	(8U * TE_SLICE_BYTES)
#define TE_PACE_MAX	(16U * TE_SLICE_BYTES)

void te_pace_init(struct te_pace *pace, unsigned long now)
{
	pace->window = TE_PACE_FIRST;
	pace->cut_at = now;
}

void te_pace_done(struct te_pace *pace, u32 len, unsigned long posted,
		  unsigned long now)
{
	unsigned long took = now - posted;
	u32 window = pace->window;

	if (took > TE_PACE) {
		/* What was posted before the window was cut says nothing new. */
		if (time_before(posted, pace->cut_at))
			return;
		pace->cut_at = now;
		window = min(window / 2, (u32)div64_ul((u64)window * TE_PACE,
						       took));
	} else if (took > TE_PACE / 2) {
		window += div_u64((u64)TE_SLICE_BYTES * len, window);
	} else {
		window += len;
	}
	pace->window = clamp(window, TE_PACE_MIN, TE_PACE_MAX);
}
