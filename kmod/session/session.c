// SPDX-License-Identifier: GPL-2.0-only
/*
 * session: the actor: what a control connection does when it is kicked or time
 * has passed, and how it ends.
 *
 * A session goes down once: te_session_close() with last words for the peer, or
 * te_session_lost() without. Going down closes the door for orders, kills the
 * te_peer, fails or drops all open segments; then only the socket is left, which
 * CLOSING gives a second.
 *
 * Context: actors, on te_session_wq. Each runs one at a time.
 */
#include <linux/printk.h>

#include "event/count.h"
#include "fault/fault.h"
#include "session/priv.h"
#include "xport/xport.h"

/* Nobody uses the session any more; twice does nothing. Actor. */
static void session_down(struct te_session *s, int error)
{
	/* Why comes before that: who finds it closed asks the peer. */
	if (s->peer)
		te_peer_kill(s->peer, error);
	spin_lock(&s->lock);
	s->closed = true;
	spin_unlock(&s->lock);

	te_delay(TE_DELAY_SESSION_LOST);
	te_open_fail_all(s, error);
	te_serve_drop_all(s);
}

/* The last step: the session may be gone afterwards. Actor. */
static void session_die(struct te_session *s)
{
	te_sock_close(&s->sock);
	te_session_leave_half_open(s);
	s->state = TE_SESSION_DEAD;
	te_session_unlink(s);
}

/* End a session without last words. Actor. */
void te_session_lost(struct te_session *s, int error)
{
	session_down(s, error);
	session_die(s);
}

static void (*te_session_lane)(struct socket *sock);

void te_session_set_lane(void (*take)(struct socket *sock))
{
	te_session_lane = take;
}

/* The connection is not a session's, but a lane of another one. Actor. */
void te_session_hand_over(struct te_session *s)
{
	struct socket *sock = te_sock_take(&s->sock);

	session_die(s);
	te_session_lane(sock);
}

/**
 * te_session_close() - end a session, telling the peer why
 * @s: the session; may be closed already
 * @code: TE_WIRE_*, not TE_WIRE_OK
 * @error: -errno for who uses it here
 *
 * Context: actor. Nothing of the session but its socket is left afterwards.
 */
void te_session_close(struct te_session *s, u32 code, int error)
{
	if (s->state >= TE_SESSION_CLOSING)
		return;
	session_down(s, error);
	if (s->state == TE_SESSION_DIALING) {
		session_die(s);
		return;
	}
	te_session_last_words(s, code);
	s->state = TE_SESSION_CLOSING;
	s->deadline = jiffies + msecs_to_jiffies(TE_SESSION_CLOSE_MS);
}

/* Something failed that the session does not survive. Actor. */
static void session_end(struct te_session *s, int error)
{
	switch (error) {
	case -EBADMSG:
	case -EPROTO:
		te_count(TE_NR_SESSIONS_BROKEN, 1);
		pr_notice_ratelimited("te: session with %pI6c: not what we speak, type %u length %u\n",
				      &s->addr.addr, s->sock.rx_msg.type,
				      s->sock.rx_msg.length);
		te_session_close(s, TE_WIRE_ERR_PROTO, -EPROTO);
		break;
	case -ENOMEM:
		te_session_close(s, TE_WIRE_ERR_NOMEM, -ENOMEM);
		break;
	default:
		if (s->state == TE_SESSION_ASKING ||
		    s->state == TE_SESSION_ANSWERING)
			te_count(TE_NR_SESSIONS_LOST, 1);
		te_session_lost(s, te_sock_errno(error));
	}
}

static bool session_past(unsigned long since, unsigned int ms)
{
	return time_after_eq(jiffies, since + msecs_to_jiffies(ms));
}

static unsigned int session_idle_ms(const struct te_session *s)
{
	if (s->asking)
		return TE_SESSION_IDLE_MS;
	return test_bit(TE_SESSION_FADE, &s->bits) ? TE_SESSION_FADE_MS :
						     TE_SESSION_SERVE_IDLE_MS;
}

/* Does anybody here or there still need the session? */
static bool session_in_use(struct te_session *s)
{
	bool conns;

	/* Whoever waits for a segment, has one, or has requests holds a te_seg. */
	if (s->asking)
		return atomic_read(&s->peer->nr_segs);
	if (s->nr_segs > s->nr_ended)
		return true;
	/* The peer's requests, unless nothing is left that they could reach. */
	if (test_bit(TE_SESSION_FADE, &s->bits))
		return false;
	spin_lock(&s->peer->lock);
	conns = !list_empty(&s->peer->conns);
	spin_unlock(&s->peer->lock);
	return conns;
}

static void session_tick_idle(struct te_session *s)
{
	bool orders;

	if (s->state != TE_SESSION_ASKING && s->state != TE_SESSION_ANSWERING)
		return;
	if (session_in_use(s)) {
		s->idle = false;
		return;
	}
	if (!s->idle) {
		s->idle = true;
		s->idle_since = jiffies;
	}
	if (!session_past(s->idle_since, session_idle_ms(s)))
		return;

	/* With the door closed under the lock, the next order dials anew. */
	spin_lock(&s->lock);
	orders = !list_empty(&s->orders);
	if (!orders)
		s->closed = true;
	spin_unlock(&s->lock);
	if (!orders)
		te_session_close(s, TE_WIRE_ERR_IDLE, -ECONNRESET);
}

/* What time brings. Return: 0, -ETIMEDOUT. Actor. */
int te_session_tick(struct te_session *s)
{
	switch (s->state) {
	case TE_SESSION_ACCEPTED:
		if (time_before(jiffies, s->deadline))
			return 0;
		te_count(TE_NR_SESSIONS_REFUSED, 1);
		return -ETIMEDOUT;
	case TE_SESSION_DIALING:
	case TE_SESSION_GREETING:
		return time_before(jiffies, s->deadline) ? 0 : -ETIMEDOUT;
	case TE_SESSION_ASKING:
	case TE_SESSION_ANSWERING:
		break;
	default:
		return 0;
	}

	if (s->sock.heard) {
		s->sock.heard = false;
		s->quiet_since = jiffies;
		s->nr_pings = 0;
	} else if (session_past(s->quiet_since, TE_SESSION_PING_MS)) {
		if (s->nr_pings == TE_SESSION_MAX_PINGS)
			return -ETIMEDOUT;
		s->nr_pings++;
		s->ping_due = true;
		s->quiet_since = jiffies;
	}
	return 0;
}

/* Last words, then wait for the peer to hang up. */
static void session_linger(struct te_session *s, bool *again)
{
	int budget = TE_SESSION_RX_BUDGET;
	int ret;

	ret = te_sock_flush(&s->sock);
	if (!ret) {
		if (!s->shut)
			te_sock_shut(&s->sock);
		s->shut = true;
		do {
			ret = te_sock_discard(&s->sock);
		} while (ret > 0 && --budget);
		*again |= ret > 0;
	}
	if ((ret < 0 && ret != -EAGAIN) ||
	    time_after_eq(jiffies, s->deadline))
		session_die(s);
}

/* When to look again if nothing happens, in jiffies from now. Actor. */
unsigned long te_session_next(const struct te_session *s)
{
	unsigned long next, other;

	if (s->state != TE_SESSION_ASKING && s->state != TE_SESSION_ANSWERING)
		return time_after(s->deadline, jiffies) ?
			       s->deadline - jiffies : 0;
	next = s->quiet_since + msecs_to_jiffies(TE_SESSION_PING_MS);
	other = next;
	if (s->idle)
		other = s->idle_since + msecs_to_jiffies(session_idle_ms(s));
	else if (!s->nr_segs)
		/* Nobody tells us when a closed segment's last request is done. */
		other = jiffies + msecs_to_jiffies(TE_SESSION_POLL_MS);
	if (time_before(other, next))
		next = other;
	return time_after(next, jiffies) ? next - jiffies : 0;
}

void te_session_actor(struct work_struct *work)
{
	struct te_session *s = container_of(to_delayed_work(work),
					    struct te_session, actor);
	bool again = false;
	int ret = 0;

	/* Cleared first: what comes from here on makes us run again. */
	test_and_clear_bit(TE_SESSION_KICKED, &s->bits);
	if (s->state == TE_SESSION_DEAD)
		return;

	if (test_bit(TE_SESSION_STOP, &s->bits)) {
		te_session_close(s, TE_WIRE_ERR_SHUTDOWN, -ECONNRESET);
	} else if (test_bit(TE_SESSION_EVICT, &s->bits) &&
		   !list_empty(&s->half_link)) {
		/* Its hello may be there; what is wrong with it does not matter. */
		te_session_receive(s, &again);
		/* No last words: strangers must not keep memory busy. */
		if (!list_empty(&s->half_link)) {
			te_count(TE_NR_SESSIONS_REFUSED, 1);
			te_session_lost(s, -ECONNRESET);
		}
	}

	if (s->state == TE_SESSION_DIALING)
		ret = te_session_dial(s);
	te_open_obey(s);
	te_serve_obey(s);
	if (!ret)
		ret = te_session_receive(s, &again);
	if (!ret)
		ret = te_session_tick(s);
	if (!ret)
		ret = te_session_send(s, &again);
	if (ret)
		session_end(s, ret);
	session_tick_idle(s);
	if (s->state == TE_SESSION_CLOSING)
		session_linger(s, &again);

	/* Kicked meanwhile: it is queued already, and this does nothing. */
	if (s->state != TE_SESSION_DEAD)
		queue_delayed_work(te_session_wq, &s->actor,
				   again ? 0 : te_session_next(s));
}
