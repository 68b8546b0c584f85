// SPDX-License-Identifier: GPL-2.0-only
/* lanes: see lanes.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/lanes.h"
#include "lib/stats.h"

/* Lines that it printed, the last one in @line; -EIO: it failed. */
static int lines_of(const char *cmd, char *line, int len)
{
	FILE *f = popen(cmd, "re");
	int n = 0;

	if (!f)
		return -errno;
	while (fgets(line, len, f))
		n++;
	return pclose(f) ? -EIO : n;
}

static int kill_for_a_while(void *arg)
{
	unsigned long long end = te_now_ms();
	struct lanes *l = arg;
	char cmd[160], line[400];
	int n;

	snprintf(cmd, sizeof(cmd),
		 "ss -KHtn state established '%s = :%d and %s != :%u'",
		 l->dialed ? "dport" : "sport", LANES_PORT,
		 l->dialed ? "sport" : "dport", l->spare);
	for (end += l->ms; te_now_ms() < end; te_sleep_ms(l->every_ms)) {
		n = lines_of(cmd, line, sizeof(line));
		if (n < 0)
			return n;
		l->killed += n;
	}
	return 0;
}

int lanes_kill(struct lanes *l)
{
	l->killed = 0;
	return go_start(&l->go, kill_for_a_while, l);
}

int lanes_only(void)
{
	char cmd[100], line[400] = "", *colon;
	unsigned int port;
	int n;

	/* Queues, this end, the other end. */
	snprintf(cmd, sizeof(cmd), "ss -Htn state established 'dport = :%d'",
		 LANES_PORT);
	n = lines_of(cmd, line, sizeof(line));
	if (n != 1)
		return n < 0 ? n : -EBUSY;
	strtok(line, " ");
	strtok(NULL, " ");
	colon = strrchr(strtok(NULL, " ") ?: "", ':');
	return colon && sscanf(colon, ":%u", &port) == 1 ? (int)port : -EIO;
}
