// SPDX-License-Identifier: GPL-2.0-only
/* The descriptor itself: what it is not for, and how it is polled and passed. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/test.h"

FIXTURE(fd)
{
	struct raw r;
};

FIXTURE_SETUP(fd)
{
	ASSERT_EQ(0, te_settle());
	ASSERT_EQ(0, raw_open(&self->r, 0, 0));
}

FIXTURE_TEARDOWN(fd)
{
	raw_close(&self->r);
	CLEAN();
}

TEST_F(fd, is_no_file)
{
	int pipefd[2], fd = self->r.fd;
	char buf[64] = "";
	struct iovec iov = { buf, sizeof(buf) };

	ASSERT_EQ(0, pipe(pipefd));
	EXPECT_EQ(-1, read(fd, buf, sizeof(buf)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(fd, buf, sizeof(buf)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, readv(fd, &iov, 1));
	EXPECT_EQ(-1, writev(fd, &iov, 1));
	EXPECT_EQ(-1, pread(fd, buf, sizeof(buf), 0));
	EXPECT_EQ(-1, splice(fd, NULL, pipefd[1], NULL, 64, SPLICE_F_NONBLOCK));
	ASSERT_EQ(8, write(pipefd[1], buf, 8));
	EXPECT_EQ(-1, splice(pipefd[0], NULL, fd, NULL, 8, SPLICE_F_NONBLOCK));
	EXPECT_EQ(-1, sendfile(pipefd[1], fd, NULL, 8));
	EXPECT_EQ(-1, ftruncate(fd, 0));
	EXPECT_EQ(-1, fallocate(fd, 0, 0, 4096));
	EXPECT_EQ(-1, pwrite(fd, buf, sizeof(buf), 0));
	EXPECT_EQ(-1, copy_file_range(fd, NULL, pipefd[1], NULL, 8, 0));
	close(pipefd[0]);
	close(pipefd[1]);
}

TEST_F(fd, is_not_a_path)
{
	struct te_ioc_info info = { .size = sizeof(info) };
	int fd = open(TE_DEVICE, O_PATH | O_CLOEXEC);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBADF, raw_ioctl(fd, TE_IOC_INFO, &info));
	close(fd);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTTY, raw_ioctl(fd, TE_IOC_INFO, &info));
	close(fd);
}

/* A kernel that has x32 answers those calls as any other. */
TEST_F(fd, x32)
{
	enum { X32_IOCTL = 0x40000000 + 514 };
	struct te_ioc_info info = { .size = sizeof(info) }, native;

	ASSERT_EQ(0, raw_info(&native));
	if (syscall(X32_IOCTL, self->r.fd, TE_IOC_INFO, &info)) {
		EXPECT_EQ(ENOSYS, errno);
		return;
	}
	EXPECT_EQ(0, memcmp(&native, &info, sizeof(info)));
	info.flags = 1;
	EXPECT_EQ(-1, syscall(X32_IOCTL, self->r.fd, TE_IOC_INFO, &info));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, syscall(X32_IOCTL, self->r.fd, TE_IOC_INFO, NULL));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(fd, polls)
{
	struct pollfd p = { .fd = self->r.fd, .events = POLLIN };

	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, poll(&p, 1, 20));
	/* One without a ring never has an entry. */
	p.fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, p.fd);
	EXPECT_EQ(0, poll(&p, 1, 0) && (p.revents & POLLIN));
	close(p.fd);
}

/* A copy of the descriptor is the same context. */
TEST_F(fd, dup)
{
	static char mem[4096];
	int fd = dup(self->r.fd);
	uint32_t mr;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, raw_mr(fd, mem, sizeof(mem), TE_LOCAL_READ, &mr));
	EXPECT_EQ(0, raw_unmr(self->r.fd, mr, 0));
	close(fd);
	EXPECT_EQ(0, raw_mr(self->r.fd, mem, sizeof(mem), TE_LOCAL_READ, &mr));
}

TEST_F(fd, many)
{
	struct raw r[64];
	size_t i;

	for (i = 0; i < ROWS(r); i++)
		MUST(raw_open(&r[i], 16, 16));
	for (i = 0; i < ROWS(r); i++)
		raw_close(&r[i]);
}

TEST_HARNESS_MAIN
