// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/addr: the address by which a port is reached.
 *
 * A RoCE GID is the address of its net device. The GID of any other port is the
 * hardware address of its net devices, and their addresses are the port's: that
 * is how rdma_cm, too, finds the port of an address.
 *
 * IPv4 is taken before global IPv6, that before link-local: a link-local one
 * cannot be routed, and is often listed first. What is not of a net device of the
 * initial namespace cannot be used by rdma_cm here.
 */
#include <linux/inet.h>
#include <linux/inetdevice.h>
#include <linux/if_arp.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "rdma/rdma.h"

enum { RANK_LINK_LOCAL = 1, RANK_GLOBAL, RANK_IPV4 };

/* The best address so far; of equals, the one of now, which is there @still. */
struct found {
	const struct in6_addr *now;
	bool still;
	struct in6_addr addr;
	u32 scope_id;
	int score;
};

static int addr_rank(const struct in6_addr *addr)
{
	if (ipv6_addr_v4mapped(addr))
		return RANK_IPV4;
	if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		return RANK_LINK_LOCAL;
	return RANK_GLOBAL;
}

static void consider(struct found *found, const struct in6_addr *addr,
		     const struct net_device *ndev)
{
	bool is_now = ipv6_addr_equal(addr, found->now);
	int rank = addr_rank(addr);
	int score = 2 * rank + is_now;

	found->still |= is_now;
	if (score <= found->score)
		return;
	found->score = score;
	found->addr = *addr;
	found->scope_id = rank == RANK_LINK_LOCAL ? ndev->ifindex : 0;
}

static void consider_roce(struct found *found, const struct ib_gid_attr *attr)
{
	struct net_device *ndev;

	if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (!IS_ERR(ndev) && net_eq(dev_net(ndev), &init_net))
		consider(found, (const struct in6_addr *)&attr->gid, ndev);
	rcu_read_unlock();
}

/* Is the GID that of the net device? See rdma_addr_get_sgid(). */
static bool is_gid_of(const union ib_gid *gid, const struct net_device *ndev,
		      bool ib_link)
{
	if (ib_link)
		return ndev->type == ARPHRD_INFINIBAND &&
		       !memcmp(ndev->dev_addr + 4, gid->raw, sizeof(*gid));
	return ndev->type != ARPHRD_INFINIBAND && ndev->addr_len == ETH_ALEN &&
	       !memcmp(ndev->dev_addr, gid->raw, ETH_ALEN);
}

static void consider_ipv4(struct found *found, struct net_device *ndev)
{
	struct in_device *in_dev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;
	struct in6_addr addr;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_scope >= RT_SCOPE_LINK)
			continue;
		ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
		consider(found, &addr, ndev);
	}
}

static void consider_ipv6(struct found *found, struct net_device *ndev)
{
	struct inet6_dev *in6_dev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifp;

	if (!in6_dev)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifp, &in6_dev->addr_list, if_list) {
		if (!(ifp->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)))
			consider(found, &ifp->addr, ndev);
	}
	read_unlock_bh(&in6_dev->lock);
}

static void consider_others(struct found *found, const struct ib_gid_attr *attr)
{
	bool ib_link = rdma_protocol_ib(attr->device, attr->port_num);
	struct net_device *ndev;

	rcu_read_lock();
	for_each_netdev_rcu(&init_net, ndev) {
		if (is_gid_of(&attr->gid, ndev, ib_link)) {
			consider_ipv4(found, ndev);
			consider_ipv6(found, ndev);
		}
	}
	rcu_read_unlock();
}

/*
 * @addr and @scope_id are those of now, and stay if nothing is better. @still:
 * that of now is there, whether or not something is.
 * Return: 0, -EADDRNOTAVAIL no usable address.
 */
int te_rdma_find_addr(struct te_rdma_dev *rdev, struct in6_addr *addr,
		      u32 *scope_id, bool *still)
{
	int len = rdev->ib->port_data[rdev->port].immutable.gid_tbl_len;
	bool roce = rdma_protocol_roce(rdev->ib, rdev->port);
	const struct ib_gid_attr *attr;
	struct found found = { .now = addr };
	int i;

	for (i = 0; i < len; i++) {
		attr = rdma_get_gid_attr(rdev->ib, rdev->port, i);
		if (IS_ERR(attr))
			continue;
		if (roce)
			consider_roce(&found, attr);
		else
			consider_others(&found, attr);
		rdma_put_gid_attr(attr);
	}
	*still = found.still;
	if (!found.score)
		return -EADDRNOTAVAIL;
	*addr = found.addr;
	*scope_id = found.scope_id;
	return 0;
}

static int inet_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	if (!te_fault(TE_FAULT_NEWS))
		te_rdma_restart(container_of(nb, struct te_rdma_dev, inet), 0);
	return NOTIFY_DONE;
}

static int inet6_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	if (!te_fault(TE_FAULT_NEWS))
		te_rdma_restart(container_of(nb, struct te_rdma_dev, inet6), 0);
	return NOTIFY_DONE;
}

/* Changes of RoCE addresses are IB_EVENT_GID_CHANGE, of others no such thing. */
void te_rdma_watch_addr(struct te_rdma_dev *rdev)
{
	rdev->inet.notifier_call = inet_event;
	rdev->inet6.notifier_call = inet6_event;
	register_inetaddr_notifier(&rdev->inet);
	register_inet6addr_notifier(&rdev->inet6);
}

void te_rdma_unwatch_addr(struct te_rdma_dev *rdev)
{
	unregister_inet6addr_notifier(&rdev->inet6);
	unregister_inetaddr_notifier(&rdev->inet);
}

void te_rdma_sockaddr(struct sockaddr_storage *ss, const struct in6_addr *addr,
		      u32 scope_id, u16 port)
{
	memset(ss, 0, sizeof(*ss));
	if (ipv6_addr_v4mapped(addr)) {
		struct sockaddr_in *sin = (struct sockaddr_in *)ss;

		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		sin->sin_addr.s_addr = addr->s6_addr32[3];
	} else {
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;

		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(port);
		sin6->sin6_addr = *addr;
		sin6->sin6_scope_id = scope_id;
	}
}
