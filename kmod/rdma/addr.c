// SPDX-License-Identifier: GPL-2.0-only
/*
 * rdma/addr: the address by which a port is reached, from its GID table.
 *
 * A RoCE GID is the address of its net device. IPv4 is taken before global
 * IPv6, that before link-local: a link-local one cannot be routed, and a table
 * lists it first. An entry without a net device of the initial namespace cannot
 * be used by rdma_cm here.
 */
#include <linux/inet.h>
#include <linux/rcupdate.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "rdma/rdma.h"

enum { RANK_NONE, RANK_LINK_LOCAL, RANK_GLOBAL, RANK_IPV4 };

static int gid_rank(const struct ib_gid_attr *attr, int *ifindex)
{
	const struct in6_addr *addr = (const struct in6_addr *)&attr->gid;
	struct net_device *ndev;
	int rank;

	if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return RANK_NONE;
	if (ipv6_addr_v4mapped(addr))
		rank = RANK_IPV4;
	else if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		rank = RANK_LINK_LOCAL;
	else
		rank = RANK_GLOBAL;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev) || !net_eq(dev_net(ndev), &init_net))
		rank = RANK_NONE;
	else
		*ifindex = ndev->ifindex;
	rcu_read_unlock();
	return rank;
}

/* Return: 0, -EADDRNOTAVAIL no usable GID. */
int te_rdma_find_addr(struct te_rdma_dev *rdev, struct in6_addr *addr,
		      u32 *scope_id)
{
	int len = rdev->ib->port_data[rdev->port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	int best = RANK_NONE, ifindex = 0;
	int i, rank;

	for (i = 0; i < len; i++) {
		attr = rdma_get_gid_attr(rdev->ib, rdev->port, i);
		if (IS_ERR(attr))
			continue;
		rank = gid_rank(attr, &ifindex);
		if (rank > best) {
			best = rank;
			memcpy(addr, &attr->gid, sizeof(*addr));
			*scope_id = rank == RANK_LINK_LOCAL ? ifindex : 0;
		}
		rdma_put_gid_attr(attr);
	}
	return best == RANK_NONE ? -EADDRNOTAVAIL : 0;
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
