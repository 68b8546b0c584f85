// SPDX-License-Identifier: GPL-2.0-only
/*
 * te-topo: which files it takes for a priority matrix, what it says of the others
 * and with what status it ends; that what it loads is what the kernel has then,
 * and what it shows.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"

#define NR_ARGS		6
#define MAX_ENTRIES	(TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES)

FIXTURE(topo)
{
	char tool[512];
	FILE *in, *out, *err;
	char said[8192], wrote[8192];
	bool user_namespace;
};

FIXTURE_SETUP(topo)
{
	ssize_t n = readlink("/proc/self/exe", self->tool,
			     sizeof(self->tool) - 64);
	int i;

	ASSERT_LT(0, n);
	self->tool[n] = '\0';
	/* build/selftests/tool/topo */
	for (i = 0; i < 3; i++)
		*strrchr(self->tool, '/') = '\0';
	strcat(self->tool, "/tools/te-topo/te-topo");
	ASSERT_EQ(0, te_settle());
	self->in = tmpfile();
	self->out = tmpfile();
	self->err = tmpfile();
	ASSERT_NE(NULL, self->in);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->err);
}

FIXTURE_TEARDOWN(topo)
{
	struct te_ioc_topology_set a = { .size = sizeof(a) };
	int fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);

	EXPECT_EQ(0, raw_ioctl(fd, TE_IOC_TOPOLOGY_SET, &a));
	close(fd);
	fclose(self->in);
	fclose(self->out);
	fclose(self->err);
	CLEAN();
}

static void restart(FILE *file, const char *text)
{
	rewind(file);
	if (ftruncate(fileno(file), 0))
		abort();
	fputs(text, file);
	fflush(file);
	lseek(fileno(file), 0, SEEK_SET);
}

static void slurp(FILE *file, char *text, size_t size)
{
	ssize_t n = pread(fileno(file), text, size - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
}

/* Runs it with @input for stdin. Return: its exit status, or 128 + signal. */
static int run(FIXTURE_DATA(topo) *self, const char *input,
	       const char *const args[NR_ARGS])
{
	char *argv[NR_ARGS + 2] = { self->tool };
	int status;
	pid_t pid;

	memcpy(argv + 1, args, NR_ARGS * sizeof(*args));
	restart(self->in, input);
	restart(self->out, "");
	restart(self->err, "");
	pid = fork();
	if (!pid) {
		dup2(fileno(self->in), 0);
		dup2(fileno(self->out), 1);
		dup2(fileno(self->err), 2);
		if (self->user_namespace && unshare(CLONE_NEWUSER))
			_exit(126);
		execv(self->tool, argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	slurp(self->out, self->wrote, sizeof(self->wrote));
	slurp(self->err, self->said, sizeof(self->said));
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

#define RUN(input, ...) run(self, input, (const char *[NR_ARGS]){ __VA_ARGS__ })

#define LOCATION_31	"0123456789012345678901234567890"
#define DEVICE_63	LOCATION_31 LOCATION_31 "1"

/* @said: NULL: only of devices that are not here. */
static const struct {
	const char *desc, *json, *said;
} rows[] = {
	{ "as in Mooncake's manual",
	  "{ \"cpu:0\": [[\"mlx5_0\"], [\"mlx5_1\"]],\n"
	  "  \"cuda:0\": [[\"mlx5_1\"], [\"mlx5_0\"]] }", NULL },
	{ "one device", "{\"cpu:0\":[[\"a\"],[]]}", NULL },
	{ "the rest alone", "{\"cpu:0\":[[],[\"a\"]]}", NULL },
	{ "anywhere", "{\"*\":[[\"a\"],[]]}", NULL },
	{ "last node", "{\"cpu:1023\":[[\"a\"],[]]}", NULL },
	{ "one port", "{\"cpu:0\":[[\"a/1\"],[\"a\"]]}", NULL },
	{ "longest location", "{\"" LOCATION_31 "\":[[\"a\"],[]]}", NULL },
	{ "longest device", "{\"x\":[[\"" DEVICE_63 "\"],[]]}", NULL },
	{ "a letter in other words", "{\"cpu:0\":[[\"\\u0061\"],[]]}", NULL },

	{ "nothing", "", "stdin:1:0: " },
	{ "no JSON", "cpu:0", "stdin:1:" },
	{ "cut off", "{\n \"cpu:0\": [[\"a\"], []", "stdin:2:" },
	{ "something behind it", "{\"cpu:0\":[[\"a\"],[]]} x", "stdin:1:" },
	{ "not UTF-8", "{\"x\":[[\"\377\"],[]]}", "stdin:1:" },
	{ "NUL in a name", "{\"x\":[[\"a\\u0000b\"],[]]}", "stdin:1:" },
	{ "a location twice", "{\"x\":[[\"a\"],[]],\"x\":[[\"b\"],[]]}",
	  "stdin:1:" },
	{ "a list", "[]", "stdin: not an object" },
	{ "no location", "{}", "stdin: no location" },
	{ "location empty", "{\"\":[[\"a\"],[]]}", "\"\" is no location" },
	{ "location with a space", "{\"a b\":[[\"a\"],[]]}",
	  "\"a b\" is no location" },
	{ "location too long", "{\"" LOCATION_31 "x\":[[\"a\"],[]]}",
	  "x\" is no location" },
	{ "a node too many", "{\"cpu:1024\":[[\"a\"],[]]}",
	  "\"cpu:1024\" is no location" },
	{ "node with a zero in front", "{\"cpu:00\":[[\"a\"],[]]}",
	  "\"cpu:00\" is no location" },
	{ "node that is none", "{\"cpu:\":[[\"a\"],[]]}",
	  "\"cpu:\" is no location" },
	{ "no list", "{\"x\":\"a\"}", "\"x\": not a list of two lists" },
	{ "one list", "{\"x\":[[\"a\"]]}", "\"x\": not a list of two lists" },
	{ "three lists", "{\"x\":[[\"a\"],[],[]]}",
	  "\"x\": not a list of two lists" },
	{ "a list of names", "{\"x\":[\"a\",\"b\"]}",
	  "\"x\": not a list of two lists" },
	{ "one list of names", "{\"x\":[[\"a\"],\"b\"]}",
	  "\"x\": not a list of two lists" },
	{ "an object for a list", "{\"x\":[{\"a\":1},[]]}",
	  "\"x\": not a list of two lists" },
	{ "a number for a device", "{\"x\":[[1],[]]}",
	  "\"x\": a device is not a string" },
	{ "nothing for a device", "{\"x\":[[],[null]]}",
	  "\"x\": a device is not a string" },
	{ "no device", "{\"x\":[[],[]]}", "\"x\": no device at all" },
	{ "device empty", "{\"x\":[[\"\"],[]]}", "\"\" is no name of a device" },
	{ "device with a space", "{\"x\":[[\"a b\"],[]]}",
	  "\"a b\" is no name of a device" },
	{ "device in UTF-8", "{\"x\":[[\"\303\244\"],[]]}",
	  "is no name of a device" },
	{ "device too long", "{\"x\":[[\"" DEVICE_63 "x\"],[]]}",
	  "x\" is no name of a device" },
	{ "a device twice", "{\"x\":[[\"a\",\"b\",\"a\"],[]]}",
	  "\"x\": device \"a\" is there twice" },
	{ "a device in both lists", "{\"x\":[[\"a\"],[\"b\",\"a\"]]}",
	  "\"x\": device \"a\" is there twice" },
};

TEST_F_TIMEOUT(topo, check, SLOW)
{
	size_t i;
	int status;

	for (i = 0; i < ROWS(rows); i++) {
		status = RUN(rows[i].json, "check", "-");
		EXPECT_ROW(rows[i].said ? 1 : 0, status, "%s", rows[i].desc);
		EXPECT_ROW(0, self->wrote[0], "%s: %s", rows[i].desc,
			   self->wrote);
		EXPECT_ROW(true, !!strstr(self->said, rows[i].said ?:
					  "\" is not here\n"),
			   "%s: %s", rows[i].desc, self->said);
		EXPECT_ROW(0, strncmp(self->said, "te-topo: ", 9), "%s: %s",
			   rows[i].desc, self->said);
	}
}

/* A file with @locations rows of @devices devices each. */
static char *big(int locations, int devices)
{
	static char text[256 << 10];
	char *p = text;
	int i, j;

	for (i = 0; i < locations; i++) {
		p += sprintf(p, "%s\"cpu:%d\":[[", i ? "," : "{", i);
		for (j = 0; j < devices; j++)
			p += sprintf(p, "%s\"dev_%d\"", j ? "," : "", j);
		p += sprintf(p, "],[]]");
	}
	strcpy(p, "}");
	return text;
}

TEST_F_TIMEOUT(topo, sizes, SLOW)
{
	EXPECT_EQ(0, RUN(big(TE_TOPOLOGY_LOCATIONS, TE_TOPOLOGY_DEVICES),
			 "load", "-"));
	EXPECT_EQ(1, RUN(big(TE_TOPOLOGY_LOCATIONS + 1, 1), "load", "-"));
	EXPECT_NE(NULL, strstr(self->said, "more than 64 locations"));
	EXPECT_EQ(1, RUN(big(1, TE_TOPOLOGY_DEVICES + 1), "load", "-"));
	EXPECT_NE(NULL, strstr(self->said, "more than 32 devices"));
}

/* Name of a device that is here, "" if there is none. */
static void some_device(char *name, size_t size)
{
	DIR *dir = opendir("/sys/class/infiniband");
	struct dirent *entry;

	*name = '\0';
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(name, size, "%s", entry->d_name);
	if (dir)
		closedir(dir);
}

TEST_F_TIMEOUT(topo, strict, SLOW)
{
	char device[256], json[1024];

	some_device(device, sizeof(device));
	ASSERT_NE('\0', device[0]);
	snprintf(json, sizeof(json), "{\"*\":[[\"%s\",\"%s/1\"],[]]}", device,
		 device);
	EXPECT_EQ(0, RUN(json, "check", "--strict", "-"));
	EXPECT_EQ('\0', self->said[0]);
	EXPECT_EQ(0, RUN(json, "check", "-"));
	EXPECT_EQ('\0', self->said[0]);

	snprintf(json, sizeof(json), "{\"*\":[[\"%s\"],[\"%s/9\"]]}", device,
		 device);
	EXPECT_EQ(1, RUN(json, "check", "--strict", "-"));
	EXPECT_NE(NULL, strstr(self->said, "/9\" is not here"));
	EXPECT_EQ(0, RUN(json, "check", "-"));
	EXPECT_NE(NULL, strstr(self->said, "/9\" is not here"));
	EXPECT_EQ(1, RUN("{\"*\":[[\"no_such\"],[]]}", "load", "--strict",
			 "-"));
	EXPECT_EQ(0, RUN("", "show"));
	EXPECT_STREQ("{}\n", self->wrote);
}

static void entry(struct te_topology_entry *e, const char *location,
		  const char *device, uint32_t tier)
{
	memset(e, 0, sizeof(*e));
	strcpy((char *)e->location, location);
	strcpy((char *)e->device, device);
	e->tier = tier;
}

TEST_F_TIMEOUT(topo, load_show_clear, SLOW)
{
	static const char json[] =
		"{\"cuda:0\":[[\"b\"],[\"a\"]], \"*\":[[],[\"a\"]],"
		" \"cpu:0\":[[\"a\",\"b/2\"],[]]}";
	static const char shown[] =
		"{\n  \"*\": [[], [\"a\"]],\n"
		"  \"cuda:0\": [[\"b\"], [\"a\"]],\n"
		"  \"cpu:0\": [[\"a\", \"b/2\"], []]\n}\n";
	static struct te_topology_entry have[8], want[5];
	struct te_ioc_topology_get get = {
		.size = sizeof(get),
		.max = 8,
		.entries = (uintptr_t)have,
	};
	char saved[sizeof(shown)];
	int fd;

	EXPECT_EQ(0, RUN(json, "load", "-"));
	entry(&want[0], "*", "a", 1);
	entry(&want[1], "cuda:0", "b", 0);
	entry(&want[2], "cuda:0", "a", 1);
	entry(&want[3], "cpu:0", "a", 0);
	entry(&want[4], "cpu:0", "b/2", 0);
	fd = open(TE_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, raw_ioctl(fd, TE_IOC_TOPOLOGY_GET, &get));
	close(fd);
	EXPECT_EQ(5, get.nr);
	EXPECT_EQ(0, memcmp(have, want, sizeof(want)));

	EXPECT_EQ(0, RUN("", "show"));
	EXPECT_STREQ(shown, self->wrote);
	EXPECT_EQ('\0', self->said[0]);

	/* A file that is refused leaves what is there. */
	EXPECT_EQ(1, RUN("{\"x\":[[],[]]}", "load", "-"));
	EXPECT_EQ(0, RUN("", "show"));
	EXPECT_STREQ(shown, self->wrote);

	/* What it shows it takes. */
	strcpy(saved, shown);
	EXPECT_EQ(0, RUN("", "clear"));
	EXPECT_EQ(0, RUN("", "show"));
	EXPECT_STREQ("{}\n", self->wrote);
	EXPECT_EQ(0, RUN(saved, "load", "-"));
	EXPECT_EQ(0, RUN("", "show"));
	EXPECT_STREQ(shown, self->wrote);
}

TEST_F_TIMEOUT(topo, files, SLOW)
{
	char path[] = "/tmp/te-topo-XXXXXX";
	static const char bad[] = "{\"x\":[[],[]]}";
	char said[128];
	int fd = mkstemp(path);

	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)strlen(bad), write(fd, bad, strlen(bad)));
	EXPECT_EQ(1, RUN("", "check", path));
	snprintf(said, sizeof(said), "te-topo: %s: \"x\": no device at all\n",
		 path);
	EXPECT_STREQ(said, self->said);
	ASSERT_EQ(0, ftruncate(fd, 0));
	ASSERT_EQ(1, pwrite(fd, "[", 1, 0));
	EXPECT_EQ(1, RUN("", "check", path));
	snprintf(said, sizeof(said), "te-topo: %s:1:1: ", path);
	EXPECT_EQ(0, strncmp(said, self->said, strlen(said)));
	close(fd);
	unlink(path);

	EXPECT_EQ(1, RUN("", "check", path));
	snprintf(said, sizeof(said), "te-topo: %s: No such file or directory\n",
		 path);
	EXPECT_STREQ(said, self->said);
	EXPECT_EQ(1, RUN("", "check", "/tmp"));
	EXPECT_EQ(0, strncmp("te-topo: /tmp:", self->said, 14));
}

TEST_F_TIMEOUT(topo, devices, SLOW)
{
	EXPECT_EQ(1, RUN("", "show", "--device=/nowhere"));
	EXPECT_STREQ("te-topo: /nowhere: No such file or directory\n",
		     self->said);
	EXPECT_EQ(1, RUN("", "clear", "--device=/dev/null"));
	EXPECT_STREQ("te-topo: /dev/null: set: Inappropriate ioctl for device\n",
		     self->said);
	EXPECT_EQ(0, RUN("", "clear", "--device=/dev/te"));
}

/* Who may open te but is no administrator may look. */
TEST_F_TIMEOUT(topo, not_admin, SLOW)
{
	static const char json[] = "{\"cpu:0\":[[\"a\"],[]]}";

	EXPECT_EQ(0, RUN(json, "load", "-"));
	self->user_namespace = true;
	EXPECT_EQ(1, RUN(json, "load", "-"));
	EXPECT_NE(NULL, strstr(self->said,
			       "te-topo: /dev/te: set: Operation not permitted\n"));
	EXPECT_EQ(1, RUN("", "clear"));
	EXPECT_EQ(0, RUN("", "show"));
	EXPECT_STREQ("{\n  \"cpu:0\": [[\"a\"], []]\n}\n", self->wrote);
	EXPECT_EQ(0, RUN(json, "check", "-"));
}

TEST_F_TIMEOUT(topo, usage, SLOW)
{
	static const char *const table[][NR_ARGS] = {
		{ NULL },
		{ "check", NULL },
		{ "load", NULL },
		{ "check", "-", "-", NULL },
		{ "show", "-", NULL },
		{ "clear", "-", NULL },
		{ "show", "--strict", NULL },
		{ "clear", "--strict", NULL },
		{ "unload", NULL },
		{ "", NULL },
		{ "--bogus", "show", NULL },
		{ "show", "--device", NULL },
	};
	size_t i;

	for (i = 0; i < ROWS(table); i++) {
		EXPECT_ROW(2, run(self, "{}", table[i]), "row %zu", i);
		EXPECT_ROW(true, !!strstr(self->said, "usage: te-topo check"),
			   "row %zu: %s", i, self->said);
		EXPECT_ROW(0, self->wrote[0], "row %zu", i);
	}
	EXPECT_EQ(0, RUN("", "--help"));
	EXPECT_EQ(0, strncmp("usage: ", self->wrote, 7));
	EXPECT_EQ('\0', self->said[0]);
}

TEST_HARNESS_MAIN
