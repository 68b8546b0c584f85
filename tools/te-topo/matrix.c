// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * JSON to entries and back; see matrix.h. The kernel checks all of it once more
 * and says less about it.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "matrix.h"
#include "say.h"

/* As the kernel counts them, below it on every machine. */
#define MAX_NODES	1024

static bool node_ok(const char *digits)
{
	size_t len = strlen(digits);

	return len && len <= 4 && strspn(digits, "0123456789") == len &&
	       (len == 1 || digits[0] != '0') && atoi(digits) < MAX_NODES;
}

static bool location_ok(const char *name)
{
	const char *c;

	if (!strcmp(name, "*"))
		return true;
	for (c = name; *c; c++) {
		if (!isascii(*c) || (!isalnum(*c) && !strchr("._:-", *c)))
			return false;
	}
	if (c == name || c - name > TE_MAX_LOCATION)
		return false;
	return strncmp(name, "cpu:", 4) || node_ok(name + 4);
}

static bool device_ok(const char *name)
{
	const char *c;

	for (c = name; *c; c++) {
		if (!isascii(*c) || !isgraph(*c))
			return false;
	}
	return c != name && c - name <= TE_MAX_DEVICE;
}

/* "mlx5_0", or a port of it, "mlx5_0/1". */
static bool device_is_here(const char *name)
{
	const char *port = strchr(name, '/');
	int len = port ? port - name : (int)strlen(name);
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%.*s%s%s", len,
		 name, port ? "/ports" : "", port ? port : "");
	return !access(path, F_OK);
}

static bool same(const uint8_t *field, const char *name)
{
	return !strcmp((const char *)field, name);
}

/* Return: whether the device was named before, in any row or from @first on. */
static bool is_named(const struct matrix *matrix, uint32_t first,
		     const char *device)
{
	uint32_t i;

	for (i = first; i < matrix->nr; i++) {
		if (same(matrix->entries[i].device, device))
			return true;
	}
	return false;
}

static uint32_t count_devices(const struct matrix *matrix)
{
	uint32_t i, j, nr = 0;

	for (i = 0; i < matrix->nr; i++) {
		for (j = 0; j < i; j++) {
			if (!strcmp((const char *)matrix->entries[i].device,
				    (const char *)matrix->entries[j].device))
				break;
		}
		nr += j == i;
	}
	return nr;
}

/**
 * struct reader - where reading is
 * @path: for messages
 * @strict: unknown devices are errors
 * @location: of the row
 * @first: entry that the row starts with
 * @matrix: what has been read
 */
struct reader {
	const char *path;
	bool strict;
	const char *location;
	uint32_t first;
	struct matrix *matrix;
};

static int add_device(struct reader *r, const json_t *value, uint32_t tier)
{
	const char *device = json_string_value(value);
	struct matrix *matrix = r->matrix;
	struct te_topology_entry *entry;

	if (!device)
		return say_error(0, "%s: \"%s\": a device is not a string",
				 r->path, r->location);
	if (!device_ok(device))
		return say_error(0, "%s: \"%s\": \"%s\" is no name of a device",
				 r->path, r->location, device);
	if (is_named(matrix, r->first, device))
		return say_error(0, "%s: \"%s\": device \"%s\" is there twice",
				 r->path, r->location, device);
	if (!is_named(matrix, 0, device)) {
		if (count_devices(matrix) == TE_TOPOLOGY_DEVICES)
			return say_error(0, "%s: more than %u devices", r->path,
					 TE_TOPOLOGY_DEVICES);
		if (!device_is_here(device)) {
			say_error(0, "%s: \"%s\": device \"%s\" is not here",
				  r->path, r->location, device);
			if (r->strict)
				return -ENODEV;
		}
	}
	entry = &matrix->entries[matrix->nr++];
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->location, r->location, strlen(r->location));
	memcpy(entry->device, device, strlen(device));
	entry->tier = tier;
	return 0;
}

static int add_row(struct reader *r, const json_t *row)
{
	const json_t *device, *tier;
	size_t i, j;
	int ret;

	if (!location_ok(r->location))
		return say_error(0, "%s: \"%s\" is no location", r->path,
				 r->location);
	if (json_array_size(row) != TE_NR_TIERS ||
	    !json_is_array(json_array_get(row, 0)) ||
	    !json_is_array(json_array_get(row, 1)))
		return say_error(0, "%s: \"%s\": not a list of two lists",
				 r->path, r->location);
	r->first = r->matrix->nr;
	json_array_foreach(row, i, tier) {
		json_array_foreach(tier, j, device) {
			ret = add_device(r, device, i);
			if (ret)
				return ret;
		}
	}
	if (r->matrix->nr == r->first)
		return say_error(0, "%s: \"%s\": no device at all", r->path,
				 r->location);
	return 0;
}

static int add_rows(struct reader *r, json_t *root)
{
	json_t *row;
	int ret;

	if (!json_is_object(root))
		return say_error(0, "%s: not an object", r->path);
	if (!json_object_size(root))
		return say_error(0, "%s: no location (see te-topo clear)",
				 r->path);
	if (json_object_size(root) > TE_TOPOLOGY_LOCATIONS)
		return say_error(0, "%s: more than %u locations", r->path,
				 TE_TOPOLOGY_LOCATIONS);
	json_object_foreach(root, r->location, row) {
		ret = add_row(r, row);
		if (ret)
			return ret;
	}
	return 0;
}

int matrix_read(const char *path, bool strict, struct matrix *matrix)
{
	bool from_stdin = !strcmp(path, "-");
	struct reader r = {
		.path = from_stdin ? "stdin" : path,
		.strict = strict,
		.matrix = matrix,
	};
	json_error_t error;
	json_t *root;
	FILE *file;
	int ret;

	file = from_stdin ? stdin : fopen(path, "r");
	if (!file)
		return say_error(-errno, "%s", path);
	root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		ret = say_error(0, "%s:%d:%d: %s", r.path, error.line,
				error.column, error.text);
	if (!from_stdin)
		fclose(file);
	if (!root)
		return ret;

	matrix->nr = 0;
	ret = add_rows(&r, root);
	json_decref(root);
	return ret;
}

/* Return: a row of two empty lists at the end of @root, or NULL. */
static json_t *new_row(json_t *root, const uint8_t *location)
{
	json_t *row = json_pack("[[], []]");

	if (json_object_set_new(root, (const char *)location, row))
		return NULL;
	return row;
}

int matrix_print(const struct matrix *matrix, FILE *file)
{
	const struct te_topology_entry *entry;
	json_t *root = json_object(), *row;
	const char *location;
	uint32_t i;
	int ret = -ENOMEM;

	for (i = 0; i < matrix->nr; i++) {
		entry = &matrix->entries[i];
		row = json_object_get(root, (const char *)entry->location);
		if (!row)
			row = new_row(root, entry->location);
		if (json_array_append_new(json_array_get(row, entry->tier),
					  json_string((const char *)entry->device)))
			goto out;
	}

	/* A line for each location. */
	fputs("{", file);
	i = 0;
	json_object_foreach(root, location, row) {
		fprintf(file, "%s\n  \"%s\": ", i++ ? "," : "", location);
		if (json_dumpf(row, file, 0))
			goto out;
	}
	fputs(i ? "\n}\n" : "}\n", file);
	ret = fflush(file) ? -errno : 0;
out:
	json_decref(root);
	return ret;
}
