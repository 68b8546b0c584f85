// SPDX-License-Identifier: GPL-2.0-only
/*
 * session/table: all sessions of the node: made, found, counted, freed.
 *
 * A session is made by who opens a segment (asking) or by the listener
 * (answering) and is in the table until its actor has released the socket. The
 * last reference frees it from a work item of its own, after its actor has run
 * for the last time; te_session_exit() waits for that.
 *
 * What strangers can make us keep is bounded here: connections without a hello,
 * and answering sessions.
 *
 * Context: process, but for te_session_kick() and te_session_put(), which any
 * may call. Nothing here waits for a peer.
 */
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "event/count.h"
#include "fault/fault.h"
#include "session/priv.h"
#include "xport/xport.h"

unsigned short te_session_port = TE_DEFAULT_PORT;
bool te_session_insecure;

struct workqueue_struct *te_session_wq;

static DEFINE_SPINLOCK(te_sessions_lock); /* protects the next five */
static LIST_HEAD(te_sessions);
static LIST_HEAD(te_half_open);	/* without a hello, oldest first */
static unsigned int te_nr_half_open;
static unsigned int te_nr_answering;
static bool te_sessions_stopped;

/* Sessions whose memory is not freed yet. */
static atomic_t te_sessions_alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(te_sessions_wait);

/* Let the actor run soon. Context: any, also softirq. */
void te_session_kick(struct te_session *s)
{
	if (!test_and_set_bit(TE_SESSION_KICKED, &s->bits))
		mod_delayed_work(te_session_wq, &s->actor, 0);
}

/*
 * Let the actor run for the first time. A session is made with TE_SESSION_KICKED
 * set, so that no kick can start it before it is in the table with its socket.
 * From here on it may die at any moment.
 */
static void session_start(struct te_session *s)
{
	queue_delayed_work(te_session_wq, &s->actor, 0);
}

static void session_sock_kick(struct te_sock *ts)
{
	te_session_kick(container_of(ts, struct te_session, sock));
}

/* Runs after the last reference is gone, so nobody kicks any more. */
static void session_free(struct work_struct *work)
{
	struct te_session *s = container_of(work, struct te_session, free_work);

	cancel_delayed_work_sync(&s->actor);
	if (s->peer)
		te_peer_put(s->peer);
	te_sock_destroy(&s->sock);
	xa_destroy(&s->opens);
	xa_destroy(&s->serves);
	put_net(s->net);
	kfree(s);
	te_count(TE_NR_SESSIONS, -1);
	if (atomic_dec_and_test(&te_sessions_alive))
		wake_up(&te_sessions_wait);
}

static struct te_session *session_create(struct net *net,
					 const struct te_session_addr *addr,
					 bool asking)
{
	struct te_session *s;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return NULL;
	if (te_sock_init(&s->sock, session_sock_kick))
		goto err_free;
	if (asking) {
		s->peer = te_peer_create(net, &addr->addr,
					 addr->scope_id);
		if (!s->peer)
			goto err_destroy_sock;
	}

	kref_init(&s->ref);
	__set_bit(TE_SESSION_KICKED, &s->bits);
	s->asking = asking;
	s->state = asking ? TE_SESSION_DIALING : TE_SESSION_ACCEPTED;
	s->net = get_net(net);
	s->addr = *addr;
	INIT_LIST_HEAD(&s->link);
	INIT_LIST_HEAD(&s->half_link);
	INIT_DELAYED_WORK(&s->actor, te_session_actor);
	INIT_WORK(&s->free_work, session_free);
	spin_lock_init(&s->lock);
	INIT_LIST_HEAD(&s->orders);
	INIT_LIST_HEAD(&s->news);
	s->quiet_since = jiffies;
	s->deadline = jiffies + msecs_to_jiffies(TE_SESSION_HELLO_MS);
	xa_init_flags(&s->opens, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&s->asks);
	INIT_LIST_HEAD(&s->closes);
	xa_init_flags(&s->serves, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&s->busy);
	atomic_inc(&te_sessions_alive);
	te_count(TE_NR_SESSIONS, 1);
	return s;

err_destroy_sock:
	te_sock_destroy(&s->sock);
err_free:
	kfree(s);
	return NULL;
}

void te_session_get(struct te_session *s)
{
	kref_get(&s->ref);
}

static void session_release(struct kref *ref)
{
	struct te_session *s = container_of(ref, struct te_session, ref);

	queue_work(te_session_wq, &s->free_work);
}

/* Context: any; the actor itself may put the last reference. */
void te_session_put(struct te_session *s)
{
	kref_put(&s->ref, session_release);
}

/* A place for one te_open, if there is one. */
static bool session_enter(struct te_session *s)
{
	bool ret;

	spin_lock(&s->lock);
	ret = !s->closed && s->nr_opens < TE_SESSION_MAX_SEGS;
	if (ret)
		s->nr_opens++;
	spin_unlock(&s->lock);
	return ret;
}

/* Give back a place. Context: process. */
void te_session_leave(struct te_session *s)
{
	spin_lock(&s->lock);
	s->nr_opens--;
	spin_unlock(&s->lock);
}

/* Asking session of this address, with a reference and a place, or NULL. */
static struct te_session *session_find_locked(struct net *net,
					      const struct te_session_addr *addr)
{
	struct te_session *s;

	lockdep_assert_held(&te_sessions_lock);
	list_for_each_entry(s, &te_sessions, link) {
		if (s->asking && net_eq(s->net, net) &&
		    s->addr.port == addr->port &&
		    s->addr.scope_id == addr->scope_id &&
		    ipv6_addr_equal(&s->addr.addr, &addr->addr) &&
		    session_enter(s)) {
			te_session_get(s);
			return s;
		}
	}
	return NULL;
}

/**
 * te_session_find_or_dial() - asking session to a peer
 * @net: namespace
 * @addr: of the peer
 * @fresh: set when it was made for this call
 *
 * Context: process.
 * Return: the session with a reference and a place for one te_open, or
 * ERR_PTR(-ENOMEM), or ERR_PTR(-ENODEV) when the module goes away.
 */
struct te_session *te_session_find_or_dial(struct net *net,
					   const struct te_session_addr *addr,
					   bool *fresh)
{
	struct te_session *s, *new;

	*fresh = false;
	spin_lock(&te_sessions_lock);
	s = session_find_locked(net, addr);
	spin_unlock(&te_sessions_lock);
	if (s)
		return s;

	new = session_create(net, addr, true);
	if (!new)
		return ERR_PTR(-ENOMEM);

	spin_lock(&te_sessions_lock);
	s = session_find_locked(net, addr);
	if (!s && te_sessions_stopped) {
		s = ERR_PTR(-ENODEV);
	} else if (!s) {
		session_enter(new);
		te_session_get(new);
		list_add_tail(&new->link, &te_sessions);
		s = new;
		*fresh = true;
	}
	spin_unlock(&te_sessions_lock);

	if (*fresh)
		session_start(s);
	else
		te_session_put(new);
	return s;
}

/* Make the oldest of those without a hello go that was not told yet. */
static void half_open_evict_locked(void)
{
	struct te_session *s;

	lockdep_assert_held(&te_sessions_lock);
	list_for_each_entry(s, &te_half_open, half_link) {
		if (!test_and_set_bit(TE_SESSION_EVICT, &s->bits)) {
			te_session_kick(s);
			break;
		}
	}
}

/**
 * te_session_accept() - an answering session for a new connection
 * @net: namespace
 * @addr: of the peer
 * @sock: takes it, also on failure
 * @calls: its original callbacks
 *
 * Context: the listener's work.
 */
void te_session_accept(struct net *net, const struct te_session_addr *addr,
		       struct socket *sock, const struct te_sock_calls *calls)
{
	struct te_session *s;
	bool stopped;

	s = session_create(net, addr, false);
	if (!s) {
		te_sock_release(sock, calls);
		return;
	}
	te_sock_adopt(&s->sock, sock, calls);

	spin_lock(&te_sessions_lock);
	stopped = te_sessions_stopped;
	if (!stopped) {
		if (te_nr_half_open >= TE_SESSION_MAX_HALF_OPEN)
			half_open_evict_locked();
		list_add_tail(&s->half_link, &te_half_open);
		WRITE_ONCE(te_nr_half_open, te_nr_half_open + 1);
		list_add_tail(&s->link, &te_sessions);
	}
	spin_unlock(&te_sessions_lock);

	if (stopped) {
		te_sock_close(&s->sock);
		te_session_put(s);
		return;
	}
	session_start(s);
}

/*
 * Evicted ones have not gone yet: leave further connections in the backlog until
 * te_listen_resume().
 */
bool te_session_crowded(void)
{
	return READ_ONCE(te_nr_half_open) >= 2 * TE_SESSION_MAX_HALF_OPEN;
}

/* Said hello, or is dead. Actor. */
void te_session_leave_half_open(struct te_session *s)
{
	bool resume = false;

	spin_lock(&te_sessions_lock);
	if (!list_empty(&s->half_link)) {
		list_del_init(&s->half_link);
		resume = te_nr_half_open == 2 * TE_SESSION_MAX_HALF_OPEN;
		WRITE_ONCE(te_nr_half_open, te_nr_half_open - 1);
	}
	spin_unlock(&te_sessions_lock);
	if (resume)
		te_listen_resume();
}

/*
 * Nothing is exported in @net any more: let answering sessions go soon; or
 * something is again. te_listen_mutex orders the two.
 */
void te_session_fade(struct net *net, bool fade)
{
	struct te_session *s;

	spin_lock(&te_sessions_lock);
	list_for_each_entry(s, &te_sessions, link) {
		if (!s->asking && net_eq(s->net, net)) {
			assign_bit(TE_SESSION_FADE, &s->bits, fade);
			te_session_kick(s);
		}
	}
	spin_unlock(&te_sessions_lock);
}

/* To all that answer: news of devs, or else of what is far. */
static void session_news(bool of_devs, u32 mapped, u32 gone)
{
	struct te_session *s;

	spin_lock(&te_sessions_lock);
	list_for_each_entry(s, &te_sessions, link) {
		if (s->asking)
			continue;
		spin_lock(&s->lock);
		s->devs_news |= of_devs;
		s->far_news |= !of_devs;
		s->devs_mapped = (s->devs_mapped & ~gone) | mapped;
		s->devs_gone |= gone;
		spin_unlock(&s->lock);
		te_session_kick(s);
	}
	spin_unlock(&te_sessions_lock);
}

static void session_dev_up(u32 dev_id, bool mapped)
{
	session_news(true, mapped ? BIT(dev_id) : 0, 0);
}

static void session_dev_gone(u32 dev_id)
{
	session_news(true, 0, BIT(dev_id));
}

const struct te_xport_news te_session_news = {
	.dev_up		= session_dev_up,
	.dev_gone	= session_dev_gone,
};

void te_session_far_news(void)
{
	session_news(false, 0, 0);
}

/* One more that answers, if there may be. Actor. */
bool te_session_count_answering(struct te_session *s)
{
	spin_lock(&te_sessions_lock);
	s->counted = te_nr_answering < TE_SESSION_MAX_ANSWERING;
	if (s->counted)
		te_nr_answering++;
	spin_unlock(&te_sessions_lock);
	return s->counted;
}

/* Leave the table, whose reference may be the last one. Actor. */
void te_session_unlink(struct te_session *s)
{
	spin_lock(&te_sessions_lock);
	list_del_init(&s->link);
	if (s->counted)
		te_nr_answering--;
	spin_unlock(&te_sessions_lock);
	te_session_put(s);
}

int te_session_init(void)
{
	/* Bound to any free port, nobody would find us. */
	if (!te_session_port) {
		pr_err("te: port=0: no such port\n");
		return -EINVAL;
	}
	te_session_wq = alloc_workqueue("te_session", TE_WQ_FLAGS, 0);
	return te_session_wq ? 0 : -ENOMEM;
}

void te_session_exit(void)
{
	struct te_session *s;

	te_listen_exit();

	spin_lock(&te_sessions_lock);
	te_sessions_stopped = true;
	list_for_each_entry(s, &te_sessions, link) {
		set_bit(TE_SESSION_STOP, &s->bits);
		te_session_kick(s);
	}
	spin_unlock(&te_sessions_lock);

	wait_event(te_sessions_wait, !atomic_read(&te_sessions_alive));
	/* Waits for the last session_free() to return. */
	destroy_workqueue(te_session_wq);
}
