// SPDX-License-Identifier: GPL-2.0-only
/* sock: see sock.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/raw.h"
#include "lib/sock.h"
#include "lib/stats.h"

static struct sockaddr_in address(const char *addr, uint16_t port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};

	inet_pton(AF_INET, addr, &a.sin_addr);
	return a;
}

int sock_listen(int backlog, uint16_t *port)
{
	struct sockaddr_in a = address(te_peer_addr(), *port);
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (void *)&a, sizeof(a)) || listen(fd, backlog) ||
	    getsockname(fd, (void *)&a, &len))
		return -errno;
	*port = ntohs(a.sin_port);
	return fd;
}

int sock_connect(const char *addr, uint16_t port)
{
	struct sockaddr_in a = address(addr, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	if (!connect(fd, (void *)&a, sizeof(a)))
		return fd;
	ret = -errno;
	close(fd);
	return ret;
}

int sock_send(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n < 0)
			return -errno;
		p += n;
		len -= n;
	}
	return 0;
}

long sock_receive(int fd, void *buf, size_t len, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		if (poll(&pfd, 1, timeout_ms) <= 0)
			return -ETIME;
		n = recv(fd, (char *)buf + got, len - got, 0);
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += n;
	}
	return got;
}

int sock_await_close(int fd, int timeout_ms)
{
	unsigned long long end = te_now_ms() + timeout_ms;
	char buf[4096];
	long n;

	do {
		n = sock_receive(fd, buf, sizeof(buf), 100);
		if (!n || (n < 0 && n != -ETIME))
			return 0;
	} while (te_now_ms() < end);
	return -ETIME;
}

int sock_send_fd(int sock, int fd)
{
	char buf[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = buf, .msg_controllen = sizeof(buf),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(sock, &m, 0) == 1 ? 0 : -errno;
}

int sock_receive_fd(int sock)
{
	char buf[CMSG_SPACE(sizeof(int))] = "", byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = buf, .msg_controllen = sizeof(buf),
	};
	int fd;

	if (recvmsg(sock, &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}
