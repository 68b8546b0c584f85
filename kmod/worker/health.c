// SPDX-License-Identifier: GPL-2.0-only
/*
 * worker/health: when a rail that failed may try again.
 *
 * The first failure costs nothing: connecting anew is the probe. Each further
 * one doubles the pause, up to two seconds, so that a link which comes back is
 * used soon; up to half a minute where nothing ever went over: those addresses
 * probably cannot reach each other. The jitter keeps the rails of a node from
 * knocking all at once. What goes over forgives all failures but one, so that a
 * peer which takes a little and hangs up, again and again, does not set the pace.
 * Failures long ago do not count.
 */
#include <linux/minmax.h>

#include "worker/internal.h"

#define TE_PAUSE_MS		10U	/* after the second failure */
#define TE_PAUSE_MAX_MS		2000U
#define TE_PAUSE_NEVER_MS	30000U
#define TE_HEALTH_WINDOW	(10 * HZ)

bool te_health_paused(const struct te_health *health, unsigned long now)
{
	return health->fails > 1 && time_before(now, health->until);
}

void te_health_good(struct te_health *health)
{
	health->fails = min(health->fails, 1U);
	health->worked = true;
}

unsigned long te_health_fail(struct te_health *health, unsigned long now,
			     u32 jitter)
{
	u32 cap = health->worked ? TE_PAUSE_MAX_MS : TE_PAUSE_NEVER_MS;
	unsigned long quiet_from = health->until + TE_HEALTH_WINDOW;
	u32 ms = 0;

	/* Counted from the end of the pause: nothing was tried in it. */
	if (health->fails && time_after(now, quiet_from))
		health->fails = 0;
	health->fails++;
	if (health->fails > 1) {
		ms = min(TE_PAUSE_MS << min(health->fails - 2, 16U), cap);
		ms += jitter % (ms / 4);
	}
	health->until = now + msecs_to_jiffies(ms);
	return health->until - now;
}
