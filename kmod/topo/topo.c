// SPDX-License-Identifier: GPL-2.0-only
/*
 * topo: names of locations, and the priority matrix.
 *
 * Regions hold references to names, from process context. The matrix keeps the
 * names of its rows for itself, so that no process can be in an admin's way; a
 * number finds its row through te_matrix.row_of, which te_location_get() and
 * te_topo_load() fill in. Whoever asks for a tier reads under RCU and holds a
 * reference to the location: its entry does not change meanwhile.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/numa.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "topo/topo.h"

#define TE_NR_FIXED	TE_LOCATION_CPU(TE_MAX_NODES)
#define TE_NR_LOCATIONS	(TE_NR_FIXED + TE_MAX_NAMED_LOCATIONS)

/* Row 0 is that of "*" and of all that have none. */
#define TE_NR_ROWS	(1 + TE_TOPOLOGY_LOCATIONS)

/**
 * struct te_matrix - the priority matrix
 * @rcu: frees it
 * @nr_rows: in use, row 0 included
 * @nr_devices: in use
 * @any_given: row 0 was given, else it is all devices
 * @row_of: row of each location, 0 for those that are not named
 * @rows: locations
 * @devices: in the order of their first appearance
 * @tiers: by row, then by device; TE_TIER_NONE: not in it
 */
struct te_matrix {
	struct rcu_head rcu;
	u32 nr_rows;
	u32 nr_devices;
	bool any_given;
	u8 row_of[TE_NR_LOCATIONS];
	char rows[TE_NR_ROWS][TE_MAX_LOCATION + 1];
	char devices[TE_TOPOLOGY_DEVICES][TE_MAX_DEVICE + 1];
	u8 tiers[TE_NR_ROWS][TE_TOPOLOGY_DEVICES];
};

static_assert(TE_NR_ROWS <= U8_MAX);

/**
 * struct te_named - a location that has a name of its own
 * @refs: 0 free
 * @name: NUL-terminated
 */
struct te_named {
	u32 refs;
	char name[TE_MAX_LOCATION + 1];
};

static DEFINE_MUTEX(te_topo_lock); /* protects te_names, te_matrix for writing */
static struct te_named te_names[TE_MAX_NAMED_LOCATIONS];
static struct te_matrix __rcu *te_matrix;

static bool name_ok(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (!(isascii(name[i]) && isalnum(name[i])) &&
		    (!name[i] || !strchr("._:-", name[i])))
			return false;
	}
	return len && len <= TE_MAX_LOCATION;
}

/* Digits without a zero in front, below TE_MAX_NODES; else -EINVAL. */
static int parse_node(const char *digits, size_t len)
{
	u32 node = 0;
	size_t i;

	if (!len || len > 4 || (len > 1 && digits[0] == '0'))
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (!isdigit(digits[i]))
			return -EINVAL;
		node = 10 * node + (digits[i] - '0');
	}
	return node < TE_MAX_NODES ? node : -EINVAL;
}

/* Return: 0 with @location a fixed one, 1 a name of its own, -EINVAL. */
static int parse_location(const char *name, size_t len, u32 *location)
{
	static const char cpu[] = "cpu:";
	int node;

	if (len == 1 && name[0] == '*') {
		*location = TE_LOCATION_ANY;
		return 0;
	}
	if (!name_ok(name, len))
		return -EINVAL;
	if (len < strlen(cpu) || memcmp(name, cpu, strlen(cpu)))
		return 1;
	node = parse_node(name + strlen(cpu), len - strlen(cpu));
	if (node < 0)
		return node;
	*location = TE_LOCATION_CPU(node);
	return 0;
}

/* Return: its row, 0 when the matrix does not name it. */
static u32 find_row(const struct te_matrix *matrix, const char *name)
{
	u32 row;

	for (row = 1; row < matrix->nr_rows; row++)
		if (!strcmp(matrix->rows[row], name))
			return row;
	return 0;
}

/* Return: index in te_names, or -ENOSPC. */
static int named_add_locked(const char *name, size_t len)
{
	struct te_matrix *matrix;
	int i;

	lockdep_assert_held(&te_topo_lock);
	for (i = 0; i < TE_MAX_NAMED_LOCATIONS; i++)
		if (!te_names[i].refs)
			break;
	if (i == TE_MAX_NAMED_LOCATIONS)
		return -ENOSPC;
	memcpy(te_names[i].name, name, len);
	te_names[i].name[len] = '\0';
	matrix = rcu_dereference_protected(te_matrix,
					   lockdep_is_held(&te_topo_lock));
	if (matrix)
		WRITE_ONCE(matrix->row_of[TE_NR_FIXED + i],
			   find_row(matrix, te_names[i].name));
	return i;
}

/* Return: index in te_names, or -ENOENT. */
static int named_find_locked(const char *name, size_t len)
{
	int i;

	lockdep_assert_held(&te_topo_lock);
	for (i = 0; i < TE_MAX_NAMED_LOCATIONS; i++)
		if (te_names[i].refs && strlen(te_names[i].name) == len &&
		    !memcmp(te_names[i].name, name, len))
			return i;
	return -ENOENT;
}

int te_location_get(const char *name, size_t len, u32 *location)
{
	int ret;

	ret = parse_location(name, len, location);
	if (ret <= 0)
		return ret;

	mutex_lock(&te_topo_lock);
	ret = named_find_locked(name, len);
	if (ret < 0)
		ret = named_add_locked(name, len);
	if (ret >= 0) {
		te_names[ret].refs++;
		*location = TE_NR_FIXED + ret;
		ret = 0;
	}
	mutex_unlock(&te_topo_lock);
	return ret;
}

void te_location_hold(u32 location)
{
	if (location < TE_NR_FIXED)
		return;
	mutex_lock(&te_topo_lock);
	te_names[location - TE_NR_FIXED].refs++;
	mutex_unlock(&te_topo_lock);
}

void te_location_put(u32 location)
{
	if (location < TE_NR_FIXED)
		return;
	mutex_lock(&te_topo_lock);
	te_names[location - TE_NR_FIXED].refs--;
	mutex_unlock(&te_topo_lock);
}

int te_location_node(u32 location)
{
	if (location == TE_LOCATION_ANY || location >= TE_NR_FIXED)
		return NUMA_NO_NODE;
	return location - TE_LOCATION_CPU(0);
}

struct te_matrix *te_matrix_create(void)
{
	struct te_matrix *matrix;

	matrix = kzalloc(sizeof(*matrix), GFP_KERNEL_ACCOUNT);
	if (!matrix)
		return NULL;
	matrix->nr_rows = 1;
	strscpy(matrix->rows[0], "*", sizeof(matrix->rows[0]));
	memset(matrix->tiers, TE_TIER_NONE, sizeof(matrix->tiers));
	return matrix;
}

void te_matrix_free(struct te_matrix *matrix)
{
	kfree(matrix);
}

/* Length of a name in a field of @size bytes, or -EINVAL. */
static int field_len(const u8 *field, size_t size)
{
	size_t len = strnlen(field, size);

	if (len == size || memchr_inv(field + len, 0, size - len))
		return -EINVAL;
	return len;
}

/* Return: the row, -EINVAL not a location, -E2BIG. */
static int add_row(struct te_matrix *matrix, const char *name, int len)
{
	u32 location, row;
	bool any;
	int ret;

	ret = parse_location(name, len, &location);
	if (ret < 0)
		return ret;
	any = !ret && location == TE_LOCATION_ANY;
	row = any ? 0 : find_row(matrix, name);
	if (row || (any && matrix->any_given))
		return row;
	if (matrix->nr_rows - 1 + matrix->any_given == TE_TOPOLOGY_LOCATIONS)
		return -E2BIG;
	if (any) {
		matrix->any_given = true;
		return 0;
	}
	row = matrix->nr_rows++;
	memcpy(matrix->rows[row], name, len + 1);
	if (!ret)
		matrix->row_of[location] = row;
	return row;
}

/* Return: index of the device, -EINVAL not a name, -E2BIG. */
static int add_device(struct te_matrix *matrix, const char *name, int len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (!isascii(name[i]) || !isgraph(name[i]))
			return -EINVAL;
	if (!len)
		return -EINVAL;
	for (i = 0; i < matrix->nr_devices; i++)
		if (!strcmp(matrix->devices[i], name))
			return i;
	if (matrix->nr_devices == TE_TOPOLOGY_DEVICES)
		return -E2BIG;
	memcpy(matrix->devices[i], name, len + 1);
	return matrix->nr_devices++;
}

int te_matrix_add(struct te_matrix *matrix,
		  const struct te_topology_entry *entry)
{
	int location_len = field_len(entry->location, sizeof(entry->location));
	int device_len = field_len(entry->device, sizeof(entry->device));
	int row, device;

	if (location_len < 0 || device_len < 0 || entry->reserved ||
	    entry->tier >= TE_NR_TIERS)
		return -EINVAL;
	row = add_row(matrix, entry->location, location_len);
	if (row < 0)
		return row;
	device = add_device(matrix, entry->device, device_len);
	if (device < 0)
		return device;
	if (matrix->tiers[row][device] != TE_TIER_NONE)
		return -EINVAL;
	matrix->tiers[row][device] = entry->tier;
	return 0;
}

bool te_matrix_next(const struct te_matrix *matrix, u32 *pos,
		    struct te_topology_entry *entry)
{
	u32 row, device;

	if (!*pos && !matrix->any_given)
		*pos = TE_TOPOLOGY_DEVICES;
	for (; *pos < matrix->nr_rows * TE_TOPOLOGY_DEVICES; ++*pos) {
		row = *pos / TE_TOPOLOGY_DEVICES;
		device = *pos % TE_TOPOLOGY_DEVICES;
		if (matrix->tiers[row][device] == TE_TIER_NONE)
			continue;
		memset(entry, 0, sizeof(*entry));
		strscpy(entry->location, matrix->rows[row],
			sizeof(entry->location));
		strscpy(entry->device, matrix->devices[device],
			sizeof(entry->device));
		entry->tier = matrix->tiers[row][device];
		++*pos;
		return true;
	}
	return false;
}

void te_topo_load(struct te_matrix *matrix)
{
	struct te_matrix *old;
	u32 i;

	mutex_lock(&te_topo_lock);
	if (matrix) {
		if (!matrix->any_given)
			memset(matrix->tiers[0], 0, matrix->nr_devices);
		for (i = 0; i < TE_MAX_NAMED_LOCATIONS; i++)
			if (te_names[i].refs)
				matrix->row_of[TE_NR_FIXED + i] =
					find_row(matrix, te_names[i].name);
	}
	old = rcu_replace_pointer(te_matrix, matrix,
				  lockdep_is_held(&te_topo_lock));
	mutex_unlock(&te_topo_lock);
	if (old)
		kfree_rcu(old, rcu);
}

struct te_matrix *te_topo_copy(void)
{
	const struct te_matrix *matrix;
	struct te_matrix *copy = NULL;

	mutex_lock(&te_topo_lock);
	matrix = rcu_dereference_protected(te_matrix,
					   lockdep_is_held(&te_topo_lock));
	if (matrix)
		copy = kmemdup(matrix, sizeof(*matrix), GFP_KERNEL_ACCOUNT) ?:
		       ERR_PTR(-ENOMEM);
	mutex_unlock(&te_topo_lock);
	return copy;
}

static u32 matrix_tier(const struct te_matrix *matrix, u32 location,
		       const char *name)
{
	const u8 *tiers = matrix->tiers[READ_ONCE(matrix->row_of[location])];
	u32 tier = TE_TIER_NONE;
	size_t len;
	u32 i;

	for (i = 0; i < matrix->nr_devices; i++) {
		len = str_has_prefix(name, matrix->devices[i]);
		if (!len || tiers[i] == TE_TIER_NONE)
			continue;
		if (!name[len])
			return tiers[i];
		if (name[len] == '/')
			tier = tiers[i];
	}
	return tier;
}

static u32 numa_tier(u32 location, int node)
{
	int near = te_location_node(location);

	return near != NUMA_NO_NODE && node != NUMA_NO_NODE && near != node;
}

u32 te_topo_tier_of(u32 location, const char *name, int node)
{
	const struct te_matrix *matrix;
	u32 tier;

	rcu_read_lock();
	matrix = rcu_dereference(te_matrix);
	tier = matrix ? matrix_tier(matrix, location, name) :
			numa_tier(location, node);
	rcu_read_unlock();
	return tier;
}

/* Regions and the chardev are gone. */
void te_topo_exit(void)
{
	u32 i;

	te_topo_load(NULL);
	for (i = 0; i < TE_MAX_NAMED_LOCATIONS; i++)
		WARN_ON_ONCE(te_names[i].refs);
}
