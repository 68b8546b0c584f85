// SPDX-License-Identifier: GPL-2.0-only
/*
 * session: the life of a control connection.
 *
 * A session is made by who opens a segment (asking) or by the listener
 * (answering) and is in the table of all sessions until its actor has released
 * the socket. It goes down once: te_session_close() with last words for the
 * peer, or session_lost() without. Going down closes the door for orders, kills
 * the te_peer, fails or drops all open segments; then only the socket is left,
 * which CLOSING gives a second. The last reference frees the session from a work
 * item of its own, after its actor has run for the last time.
 *
 * Context: actors on te_session_wq. The rest says who may call it.
 */
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "event/count.h"
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

static atomic_long_t te_session_events[TE_SESSION_NR_EVENTS];

void te_session_count_event(enum te_session_event event)
{
	atomic_long_inc(&te_session_events[event]);
}

unsigned long te_session_event_count(enum te_session_event event)
{
	return atomic_long_read(&te_session_events[event]);
}

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

static void session_actor(struct work_struct *work);

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
		s->peer = te_peer_create(&addr->addr, addr->scope_id);
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
	INIT_DELAYED_WORK(&s->actor, session_actor);
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
static void session_leave_half_open(struct te_session *s)
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

/* One more that answers, if there may be. Actor. */
static bool session_count_answering(struct te_session *s)
{
	spin_lock(&te_sessions_lock);
	s->counted = te_nr_answering < TE_SESSION_MAX_ANSWERING;
	if (s->counted)
		te_nr_answering++;
	spin_unlock(&te_sessions_lock);
	return s->counted;
}

/* Nobody uses the session any more; twice does nothing. Actor. */
static void session_down(struct te_session *s, int error)
{
	/* Why comes before that: who finds it closed asks the peer. */
	if (s->peer)
		te_peer_kill(s->peer, error);
	spin_lock(&s->lock);
	s->closed = true;
	spin_unlock(&s->lock);

	te_open_fail_all(s, error);
	te_serve_drop_all(s);
}

/* The last step. The table's reference may be the last one. Actor. */
static void session_die(struct te_session *s)
{
	te_sock_close(&s->sock);
	session_leave_half_open(s);
	s->state = TE_SESSION_DEAD;
	spin_lock(&te_sessions_lock);
	list_del_init(&s->link);
	if (s->counted)
		te_nr_answering--;
	spin_unlock(&te_sessions_lock);
	te_session_put(s);
}

static void session_lost(struct te_session *s, int error)
{
	session_down(s, error);
	session_die(s);
}

static void session_last_words(struct te_session *s, u32 code)
{
	struct te_msg_hello_reply reply = {
		.status = code,
		.version = TE_WIRE_VERSION_MAX,
	};
	void *buf;

	buf = te_sock_reserve(&s->sock, TE_WIRE_FRAME(sizeof(struct te_wire_hello_reply)),
			      true);
	if (!buf)
		return;
	if (s->state == TE_SESSION_ACCEPTED)
		te_sock_push(&s->sock, te_wire_hello_reply_encode(buf, &reply));
	else
		te_sock_push(&s->sock, te_wire_bye_encode(buf, code));
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
	session_last_words(s, code);
	s->state = TE_SESSION_CLOSING;
	s->deadline = jiffies + msecs_to_jiffies(TE_SESSION_CLOSE_MS);
}

/* What sockets say, in words of the errno table. */
static int sock_errno(int error)
{
	switch (error) {
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ETIMEDOUT:
		return error;
	case -EHOSTDOWN:
	case -EACCES:
	case -EPERM:
		return -EHOSTUNREACH;
	case -ENETDOWN:
	case -ENONET:
	case -EADDRNOTAVAIL:
	case -EAFNOSUPPORT:
	case -ENODEV:
	case -EINVAL: /* a blackhole route */
		return -ENETUNREACH;
	case -ENFILE:
	case -ENOBUFS:
	case -ENOMEM:
		return -ENOMEM;
	default:
		return -ECONNRESET;
	}
}

/* Something failed that the session does not survive. Actor. */
static void session_end(struct te_session *s, int error)
{
	switch (error) {
	case -EBADMSG:
	case -EPROTO:
		te_session_count_event(TE_SESSION_EV_BROKEN);
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
			te_session_count_event(TE_SESSION_EV_LOST);
		session_lost(s, sock_errno(error));
	}
}

static void session_greet(struct te_session *s)
{
	struct te_msg_hello hello = {
		.version_min = TE_WIRE_VERSION_MIN,
		.version_max = TE_WIRE_VERSION_MAX,
		.page_shift = PAGE_SHIFT,
		.auth_method = TE_WIRE_AUTH_NONE,
		.features = TE_WIRE_FEATURES,
		.boot_gen = te_node.boot_gen,
	};
	void *buf;

	memcpy(hello.node_id, te_node.id, sizeof(hello.node_id));
	/* The first frame: there is room. */
	buf = te_sock_reserve(&s->sock, TE_WIRE_FRAME(sizeof(struct te_wire_hello)),
			      false);
	te_sock_push(&s->sock, te_wire_hello_encode(buf, &hello));
	s->state = TE_SESSION_GREETING;
}

static int session_dial(struct te_session *s)
{
	int ret;

	if (!s->sock.sock) {
		ret = te_sock_dial(&s->sock, s->net, &s->addr);
		if (ret)
			return ret;
	}
	ret = te_sock_connected(&s->sock);
	if (ret)
		return ret == -EINPROGRESS ? 0 : ret;
	session_greet(s);
	return 0;
}

static int session_hear_hello_reply(struct te_session *s, const void *buf,
				    u32 len)
{
	struct te_msg_hello_reply reply;
	int ret;

	ret = te_wire_hello_reply_decode(buf, len, &reply);
	if (ret)
		return ret;
	if (reply.status != TE_WIRE_OK) {
		session_lost(s, te_wire_errno(reply.status));
		return 0;
	}
	if (reply.auth_method != TE_WIRE_AUTH_NONE)
		return -EPROTO;
	ret = te_sock_grow(&s->sock, TE_WIRE_MAX_PAYLOAD, TE_SESSION_SHORT_TX);
	if (ret)
		return ret;

	/* Nobody looks at these before a segment is READY. */
	s->peer->token = reply.token;
	s->peer->boot_gen = reply.boot_gen;
	memcpy(s->peer->node_id, reply.node_id, sizeof(s->peer->node_id));
	s->page_shift = reply.page_shift;
	s->state = TE_SESSION_ASKING;
	return 0;
}

static int session_welcome(struct te_session *s, const struct te_msg_hello *hello)
{
	struct te_msg_hello_reply reply = {
		.status = TE_WIRE_OK,
		.version = min_t(u16, hello->version_max, TE_WIRE_VERSION_MAX),
		.page_shift = PAGE_SHIFT,
		.auth_method = TE_WIRE_AUTH_NONE,
		.features = hello->features & TE_WIRE_FEATURES,
		.boot_gen = te_node.boot_gen,
	};
	void *buf;
	int ret;

	ret = te_sock_grow(&s->sock, TE_SESSION_SHORT_RX, TE_SESSION_LONG_TX);
	if (ret)
		return ret;
	s->peer = te_peer_create(&s->addr.addr, s->addr.scope_id);
	if (!s->peer)
		return -ENOMEM;
	s->peer->boot_gen = hello->boot_gen;
	memcpy(s->peer->node_id, hello->node_id, sizeof(s->peer->node_id));
	ret = te_peer_publish(s->peer);
	if (ret)
		return ret;

	memcpy(reply.node_id, te_node.id, sizeof(reply.node_id));
	reply.token = s->peer->token;
	/* The first frame: there is room. */
	buf = te_sock_reserve(&s->sock, TE_WIRE_FRAME(sizeof(struct te_wire_hello_reply)),
			      false);
	te_sock_push(&s->sock, te_wire_hello_reply_encode(buf, &reply));
	s->page_shift = hello->page_shift;
	s->state = TE_SESSION_ANSWERING;
	session_leave_half_open(s);
	return 0;
}

static int session_hear_hello(struct te_session *s, const void *buf, u32 len)
{
	struct te_msg_hello hello;
	u32 code = TE_WIRE_OK;
	int ret;

	ret = te_wire_hello_decode(buf, len, &hello);
	if (ret)
		return ret;
	if (hello.version_min > TE_WIRE_VERSION_MAX ||
	    hello.version_max < TE_WIRE_VERSION_MIN)
		code = TE_WIRE_ERR_VERSION;
	else if (hello.auth_method != TE_WIRE_AUTH_NONE)
		code = TE_WIRE_ERR_AUTH;
	else if (!session_count_answering(s))
		code = TE_WIRE_ERR_LIMIT;
	if (code != TE_WIRE_OK) {
		te_session_count_event(TE_SESSION_EV_REFUSED);
		te_session_close(s, code, -EPROTO);
		return 0;
	}
	return session_welcome(s, &hello);
}

static int session_hear_ping(struct te_session *s, const void *buf, u32 len)
{
	int ret;

	ret = te_wire_ping_decode(buf, len, &s->pong_stamp);
	/* One answer does for all that came at once. */
	s->pong_due |= !ret;
	return ret;
}

static int session_hear_pong(struct te_session *s, const void *buf, u32 len)
{
	u64 stamp;

	/* That it came is all we want of it: te_sock.heard. */
	return te_wire_ping_decode(buf, len, &stamp);
}

static int session_hear_bye(struct te_session *s, const void *buf, u32 len)
{
	u32 reason;
	int ret;

	ret = te_wire_bye_decode(buf, len, &reason);
	if (ret)
		return ret;
	session_lost(s, te_wire_errno(reason));
	return 0;
}

/*
 * Who may say what when. Handlers are given the payload, may end the session,
 * and return 0, -EBADMSG or -EPROTO for what a peer must not say, or -ENOMEM.
 */
static const struct session_rule {
	unsigned long states;
	int (*hear)(struct te_session *s, const void *buf, u32 len);
} session_rules[TE_WIRE_NR_TYPES] = {
	[TE_WIRE_HELLO] = { BIT(TE_SESSION_ACCEPTED), session_hear_hello },
	[TE_WIRE_HELLO_REPLY] = { BIT(TE_SESSION_GREETING),
				  session_hear_hello_reply },
	[TE_WIRE_PING] = { BIT(TE_SESSION_ASKING) | BIT(TE_SESSION_ANSWERING),
			   session_hear_ping },
	[TE_WIRE_PONG] = { BIT(TE_SESSION_ASKING) | BIT(TE_SESSION_ANSWERING),
			   session_hear_pong },
	[TE_WIRE_BYE] = { BIT(TE_SESSION_GREETING) | BIT(TE_SESSION_ASKING) |
			  BIT(TE_SESSION_ANSWERING), session_hear_bye },
	[TE_WIRE_SEG_OPEN] = { BIT(TE_SESSION_ANSWERING), te_serve_hear_open },
	[TE_WIRE_SEG_CLOSE] = { BIT(TE_SESSION_ANSWERING),
				te_serve_hear_close },
	[TE_WIRE_SEG_OPENED] = { BIT(TE_SESSION_ASKING), te_open_hear_opened },
	[TE_WIRE_SEG_DEVS] = { BIT(TE_SESSION_ASKING), te_open_hear_devs },
	[TE_WIRE_SEG_MRS] = { BIT(TE_SESSION_ASKING), te_open_hear_mrs },
	[TE_WIRE_SEG_KEYS] = { BIT(TE_SESSION_ASKING), te_open_hear_keys },
	[TE_WIRE_SEG_READY] = { BIT(TE_SESSION_ASKING), te_open_hear_ready },
	[TE_WIRE_SEG_MR_GONE] = { BIT(TE_SESSION_ASKING),
				  te_open_hear_mr_gone },
	[TE_WIRE_SEG_GONE] = { BIT(TE_SESSION_ASKING), te_open_hear_gone },
};

static bool session_talks(const struct te_session *s)
{
	return s->state > TE_SESSION_DIALING && s->state < TE_SESSION_CLOSING;
}

/* Return: 0, or what ends the session; @again: more may be there. */
static int session_receive(struct te_session *s, bool *again)
{
	const struct session_rule *rule;
	struct te_msg_hdr msg;
	int budget, ret;

	for (budget = TE_SESSION_RX_BUDGET; session_talks(s); budget--) {
		if (!budget) {
			*again = true;
			break;
		}
		ret = te_sock_recv(&s->sock, &msg);
		if (ret <= 0)
			return ret;
		rule = &session_rules[msg.type];
		if (!(rule->states & BIT(s->state)))
			return -EPROTO;
		ret = rule->hear(s, s->sock.rx_buf, msg.length);
		if (ret)
			return ret;
	}
	return 0;
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

/* What time brings. Return: 0, -ETIMEDOUT. */
static int session_tick(struct te_session *s)
{
	switch (s->state) {
	case TE_SESSION_ACCEPTED:
		if (time_before(jiffies, s->deadline))
			return 0;
		te_session_count_event(TE_SESSION_EV_REFUSED);
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

/* Return: bytes of the next frame, 0 nothing to say, -ENOBUFS flush first ... */
static int session_produce(struct te_session *s)
{
	void *buf;
	u32 n;

	if (s->state != TE_SESSION_ASKING && s->state != TE_SESSION_ANSWERING)
		return 0;
	if (s->pong_due || s->ping_due) {
		buf = te_sock_reserve(&s->sock,
				      TE_WIRE_FRAME(sizeof(struct te_wire_ping)),
				      false);
		if (!buf)
			return -ENOBUFS;
		if (s->pong_due)
			n = te_wire_ping_encode(buf, TE_WIRE_PONG, s->pong_stamp);
		else
			n = te_wire_ping_encode(buf, TE_WIRE_PING, ktime_get_ns());
		te_sock_push(&s->sock, n);
		if (s->pong_due)
			s->pong_due = false;
		else
			s->ping_due = false;
		return n;
	}
	return s->asking ? te_open_produce(s) : te_serve_produce(s);
}

/* Return: 0, or what ends the session; @again: not all was produced. */
static int session_send(struct te_session *s, bool *again)
{
	int budget = TE_SESSION_TX_BUDGET;
	int n, ret;

	if (!session_talks(s))
		return 0;
	do {
		do {
			n = session_produce(s);
		} while ((n > 0 || n == -EAGAIN) && --budget);
		if (n < 0 && n != -ENOBUFS && n != -EAGAIN)
			return n;
		ret = te_sock_flush(&s->sock);
		if (ret)
			return ret == -EAGAIN ? 0 : ret;
	} while (n && budget);
	*again |= n != 0;
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

/* When the actor must look again if nothing happens, in jiffies from now. */
static unsigned long session_next(const struct te_session *s)
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

static void session_actor(struct work_struct *work)
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
		/* No last words: strangers must not keep memory busy. */
		te_session_count_event(TE_SESSION_EV_REFUSED);
		session_lost(s, -ECONNRESET);
	}

	if (s->state == TE_SESSION_DIALING)
		ret = session_dial(s);
	te_open_obey(s);
	te_serve_obey(s);
	if (!ret)
		ret = session_receive(s, &again);
	if (!ret)
		ret = session_tick(s);
	if (!ret)
		ret = session_send(s, &again);
	if (ret)
		session_end(s, ret);
	session_tick_idle(s);
	if (s->state == TE_SESSION_CLOSING)
		session_linger(s, &again);

	/* Kicked meanwhile: it is queued already, and this does nothing. */
	if (s->state != TE_SESSION_DEAD)
		queue_delayed_work(te_session_wq, &s->actor,
				   again ? 0 : session_next(s));
}

int te_session_init(void)
{
	te_session_wq = alloc_workqueue("te_session", WQ_UNBOUND, 0);
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
