// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Segments: from host[:port]/name to the address the kernel wants.
 *
 * Names of hosts are a matter for user space, so te_segment_open() may block in
 * the resolver. Names of segments are checked by the kernel alone.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "private.h"

/* ":1" to ":65535"; 0 would mean the default to the kernel. */
static int parse_port(const char *s, const char *end, uint16_t *port)
{
	unsigned int value = 0;

	if (s == end)
		return -EINVAL;
	for (; s < end; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		value = value * 10 + (*s - '0');
		if (value > 65535)
			return -EINVAL;
	}
	if (!value)
		return -EINVAL;

	*port = value;
	return 0;
}

static int copy_host(const char *s, const char *end, struct te_url *url)
{
	size_t len = end - s;

	if (!len || len >= sizeof(url->host))
		return -EINVAL;
	memcpy(url->host, s, len);
	url->host[len] = '\0';
	return 0;
}

/*
 * An address with colons must stand in brackets: in "fe80::1:29797/name" nobody
 * can tell the port from the last group.
 */
int te_url_parse(const char *s, struct te_url *url)
{
	const char *slash = strchr(s, '/');
	const char *host_end, *rest;
	int ret;

	memset(url, 0, sizeof(*url));
	if (!slash)
		return -EINVAL;
	url->name = slash + 1;

	if (*s == '[') {
		url->numeric_ipv6 = 1;
		s++;
		host_end = memchr(s, ']', slash - s);
		if (!host_end)
			return -EINVAL;
		rest = host_end + 1;
	} else {
		host_end = memchr(s, ':', slash - s);
		if (!host_end)
			host_end = slash;
		rest = host_end;
	}

	ret = copy_host(s, host_end, url);
	if (ret)
		return ret;
	if (rest == slash)
		return 0;
	if (*rest != ':')
		return -EINVAL;

	return parse_port(rest + 1, slash, &url->port);
}

static int resolve_error(int err, const struct te_url *url)
{
	switch (err) {
	case 0:
		return 0;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return -errno;
	default:
		return url->numeric_ipv6 ? -EINVAL : -EHOSTUNREACH;
	}
}

static int resolve(const struct te_url *url, struct addrinfo **list)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };

	if (url->numeric_ipv6) {
		hints.ai_family = AF_INET6;
		hints.ai_flags = AI_NUMERICHOST;
	}

	return resolve_error(getaddrinfo(url->host, NULL, &hints, list), url);
}

static int open_at(struct te *te, struct te_ioc_segment_open *arg,
		   const struct sockaddr *sa)
{
	struct sockaddr_in6 sin6;
	struct sockaddr_in sin;

	arg->family = sa->sa_family;
	memset(arg->addr, 0, sizeof(arg->addr));
	arg->scope_id = 0;

	switch (sa->sa_family) {
	case AF_INET:
		memcpy(&sin, sa, sizeof(sin));
		memcpy(arg->addr, &sin.sin_addr, sizeof(sin.sin_addr));
		break;
	case AF_INET6:
		memcpy(&sin6, sa, sizeof(sin6));
		memcpy(arg->addr, &sin6.sin6_addr, sizeof(sin6.sin6_addr));
		arg->scope_id = sin6.sin6_scope_id;
		break;
	default:
		return -EAFNOSUPPORT;
	}

	return te_ioctl(te->fd, TE_IOC_SEGMENT_OPEN, arg);
}

/* Worth trying the host's next address: nobody answered at this one. */
static bool is_unreachable(int err)
{
	switch (err) {
	case -EAFNOSUPPORT:
	case -EADDRNOTAVAIL:
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

int te_segment_open(struct te *te, const char *url,
		    const struct te_segment_opts *o, uint32_t *seg)
{
	struct te_ioc_segment_open arg = { .size = sizeof(arg) };
	struct addrinfo *list, *ai;
	struct te_segment_opts opts;
	struct te_url parts;
	int ret;

	ret = te_opts_get(&opts, sizeof(opts), o);
	if (ret)
		return ret;
	if (opts.timeout_ms < 0 || opts.token_len > TE_MAX_TOKEN)
		return -EINVAL;
	ret = te_url_parse(url, &parts);
	if (ret)
		return ret;

	arg.port = parts.port;
	arg.transport = opts.transport;
	arg.timeout_ms = opts.timeout_ms;
	arg.name = (uintptr_t)parts.name;
	arg.name_len = strnlen(parts.name, TE_MAX_NAME + 1);
	arg.token = (uintptr_t)opts.token;
	arg.token_len = opts.token_len;

	ret = resolve(&parts, &list);
	if (ret)
		return ret;
	for (ai = list; ai; ai = ai->ai_next) {
		ret = open_at(te, &arg, ai->ai_addr);
		if (!is_unreachable(ret))
			break;
	}
	freeaddrinfo(list);
	if (ret < 0)
		return ret;

	*seg = arg.segment;
	return 0;
}

int te_segment_export(struct te *te, const char *name,
		      const struct te_export_opts *o)
{
	struct te_ioc_segment_export arg = {
		.size = sizeof(arg),
		.name = (uintptr_t)name,
		.name_len = strnlen(name, TE_MAX_NAME + 1),
	};
	struct te_export_opts opts;
	int ret;

	ret = te_opts_get(&opts, sizeof(opts), o);
	if (ret)
		return ret;
	if (opts.token_len > TE_MAX_TOKEN)
		return -EINVAL;

	arg.token = (uintptr_t)opts.token;
	arg.token_len = opts.token_len;
	return te_ioctl(te->fd, TE_IOC_SEGMENT_EXPORT, &arg);
}

int te_segment_info(struct te *te, uint32_t seg, struct te_buffer *bufs,
		    uint32_t max)
{
	struct te_ioc_segment_info arg = {
		.size = sizeof(arg),
		.segment = seg,
		.max = max,
		.bufs = (uintptr_t)bufs,
	};
	int ret;

	ret = te_ioctl(te->fd, TE_IOC_SEGMENT_INFO, &arg);

	return ret < 0 ? ret : (int)arg.nr;
}

int te_segment_route(struct te *te, uint32_t seg, struct te_route *route)
{
	struct te_ioc_segment_info arg = {
		.size = sizeof(arg),
		.segment = seg,
	};
	int ret = te_ioctl(te->fd, TE_IOC_SEGMENT_INFO, &arg);

	if (ret)
		return ret;
	/* A module that does not tell. */
	if (arg.transport != TE_ANY && !arg.known)
		return -EOPNOTSUPP;
	*route = (struct te_route) {
		.transport = arg.transport,
		.forced = arg.forced,
		.known = arg.known,
		.able = arg.able,
	};
	return 0;
}

int te_segment_close(struct te *te, uint32_t seg)
{
	struct te_ioc_segment_close arg = {
		.size = sizeof(arg),
		.segment = seg,
	};

	return te_ioctl(te->fd, TE_IOC_SEGMENT_CLOSE, &arg);
}
