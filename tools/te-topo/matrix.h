/* SPDX-License-Identifier: LGPL-2.1-only OR MIT */
/*
 * The priority matrix in Mooncake's form, one JSON object: for each location a
 * list of two lists of devices, preferred ones and the rest.
 */
#ifndef TE_TOPO_MATRIX_H
#define TE_TOPO_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/te.h>

#define MATRIX_MAX	(TE_TOPOLOGY_LOCATIONS * TE_TOPOLOGY_DEVICES)

/**
 * struct matrix - as the kernel takes it
 * @nr: entries
 * @entries: those of one location follow each other
 */
struct matrix {
	uint32_t nr;
	struct te_topology_entry entries[MATRIX_MAX];
};

/**
 * matrix_read() - read a file and check it
 * @path: of the file; "-" is stdin
 * @strict: a device that this machine does not have is an error, not a warning
 * @matrix: filled, even in part when it fails
 *
 * Says what is wrong, and where.
 *
 * Return: 0, -errno.
 */
int matrix_read(const char *path, bool strict, struct matrix *matrix);

/* Print it so that matrix_read() understands it. Return: 0, -errno. */
int matrix_print(const struct matrix *matrix, FILE *file);

#endif /* TE_TOPO_MATRIX_H */
