/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session: control connections between nodes.
 *
 * A te_session is one TCP connection to one peer node and serves all processes
 * here that have opened segments there. It is directional: who wants to open a
 * segment dials and asks, who exports listens and answers. Two nodes that open
 * segments of each other have two sessions, so simultaneous dialling is no
 * special case, and a node may open a segment of itself.
 *
 * Everything a session does is done by its own work item, one at a time; other
 * contexts leave orders and kick it. It never waits for the peer.
 */
#ifndef TE_SESSION_H
#define TE_SESSION_H

#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct socket;
struct te_seg;
struct te_xport_news;

/* Module parameters, declared as such in main.c. */
extern unsigned short te_session_port;	/* to listen on, host byte order */
extern bool te_session_insecure;	/* accept peers from other hosts */

/**
 * struct te_session_addr - where a peer listens
 * @addr: IPv6 or IPv4-mapped address
 * @scope_id: interface of a link-local @addr, else 0
 * @port: host byte order, not 0
 */
struct te_session_addr {
	struct in6_addr addr;
	u32 scope_id;
	u16 port;
};

/* What becomes of devs of this node: peers that follow a segment are told. */
extern const struct te_xport_news te_session_news;

/*
 * Another priority matrix is loaded: peers that follow a segment are told what is
 * far from its regions now. Context: process, does not wait.
 */
void te_session_far_news(void);

/**
 * te_session_init() - make ready for the calls below
 *
 * Return: 0, -ENOMEM.
 */
int te_session_init(void);

/**
 * te_session_exit() - take all sessions down and wait until they are gone
 *
 * Context: at unload, when no context is left. Sleeps, for a second at most if
 * peers do not answer. Afterwards no socket, work or callback is left.
 */
void te_session_exit(void);

/**
 * te_session_open_segment() - open a segment of a peer
 * @net: network namespace of the caller
 * @addr: of the peer
 * @name: @len bytes
 * @len: 1 to TE_MAX_NAME
 * @transport: TE_ANY, or the one that is forced
 * @timeout_ms: for all of it, not 0
 *
 * Uses the session that is there, or dials. Returns when the description of the
 * segment is complete.
 *
 * Context: process, sleeps, ends early on a signal; no locks held.
 * Return: the segment, READY, with a reference for the caller, or ERR_PTR:
 * -ECONNREFUSED, -EHOSTUNREACH, -ENETUNREACH no connection; -ECONNRESET lost;
 * -ETIMEDOUT; -EPROTO the peer speaks another protocol or version; -EACCES
 * refused; -ENOENT no such segment; -EOPNOTSUPP the peer cannot; -EINTR;
 * -ENOMEM.
 */
struct te_seg *te_session_open_segment(struct net *net,
				       const struct te_session_addr *addr,
				       const char *name, size_t len,
				       u32 transport, unsigned int timeout_ms);

/**
 * te_session_close_segment() - it is not needed any more
 * @seg: from te_session_open_segment(), in any state
 *
 * Drops the session's reference, not the caller's. Requests in flight go on, and the
 * peer is told when the last reference is dropped, so after them; no news of the
 * segment comes any more. Once per segment; again does nothing.
 *
 * Context: process, does not wait.
 */
void te_session_close_segment(struct te_seg *seg);

/**
 * te_session_set_lane() - who takes connections that begin as a TCP lane
 * @take: takes a connected socket whose conn hello has come and is still unread;
 *	may sleep, though not for the peer
 *
 * Context: once, before the room starts.
 */
void te_session_set_lane(void (*take)(struct socket *sock));

/**
 * te_session_listen() - accept sessions in a network namespace
 * @net: the namespace; borrowed until te_session_unlisten()
 *
 * Counted: the first call starts to listen.
 *
 * Context: process, sleeps.
 * Return: 0, -EADDRINUSE another program has the port, -ENOMEM.
 */
int te_session_listen(struct net *net);

/**
 * te_session_unlisten() - undo one te_session_listen()
 * @net: the namespace
 *
 * The last call stops listening. Sessions accepted before stay until no segment
 * is open over them.
 *
 * Context: process, sleeps.
 */
void te_session_unlisten(struct net *net);

#endif /* TE_SESSION_H */
