/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * topo: where memory is, and which devs are near it.
 *
 * A location is a small number for a name. "*" (anywhere) and "cpu:N" (NUMA node
 * N) have fixed numbers; every other name, "cuda:0" say, is given one when the
 * first region uses it and loses it with the last. The matrix, if an admin has
 * loaded one, says for each location which devices are preferred, which may be
 * used too, and by silence which are not; it is replaced as a whole. Without one
 * the NUMA nodes decide.
 *
 * Nothing here knows regions or devs: xport/xport.h asks for a te_dev.
 */
#ifndef TE_TOPO_H
#define TE_TOPO_H

#include <linux/te.h>

/* Locations that are no names: fixed, need no reference. */
#define TE_LOCATION_ANY		0U
#define TE_LOCATION_CPU(node)	(1U + (node))
/* A bound of the names that is the same on every kernel. */
#define TE_MAX_NODES		1024U
/* Other names that regions use at one time. */
#define TE_MAX_NAMED_LOCATIONS	64U

/* Below TE_NR_TIERS, lower is nearer; or not to be used. */
#define TE_TIER_NONE		0xffU

struct te_matrix;

/**
 * te_location_get() - number of a name
 * @name: @len bytes, any content
 * @len: bytes
 * @location: set, with a reference
 *
 * Context: may sleep.
 * Return: 0, -EINVAL not a location, -ENOSPC TE_MAX_NAMED_LOCATIONS are in use.
 */
int te_location_get(const char *name, size_t len, u32 *location);
/* One more reference. */
void te_location_hold(u32 location);
void te_location_put(u32 location);
/* Node of "cpu:N", else NUMA_NO_NODE. */
int te_location_node(u32 location);

/**
 * te_topo_tier_of() - how near a device is to a location
 * @location: referenced by the caller, or a fixed one
 * @name: of the device, "mlx5_0", or of one port of it, "mlx5_0/1"; the matrix
 *	may name either, and the port's own word counts more
 * @node: NUMA node of the device, NUMA_NO_NODE unknown
 *
 * A location that the matrix does not name is as "*"; for "*", where the matrix
 * does not name it, all devices are preferred that the matrix names at all.
 *
 * Context: any that may not sleep too.
 * Return: below TE_NR_TIERS, or TE_TIER_NONE.
 */
u32 te_topo_tier_of(u32 location, const char *name, int node);

/* A matrix is built entry by entry, then loaded or freed. All may sleep. */
/* Return: the matrix, empty, or NULL out of memory. */
struct te_matrix *te_matrix_create(void);
void te_matrix_free(struct te_matrix *matrix);
/**
 * te_matrix_add() - one device of one location
 * @matrix: not loaded yet
 * @entry: any content
 *
 * Return: 0, -EINVAL a name that is none, a tier that is none, a pair that was
 * added before; -E2BIG over TE_TOPOLOGY_LOCATIONS or TE_TOPOLOGY_DEVICES.
 */
int te_matrix_add(struct te_matrix *matrix,
		  const struct te_topology_entry *entry);
/**
 * te_matrix_next() - walk the entries of a matrix
 * @matrix: the matrix
 * @pos: 0 for the first; where to go on
 * @entry: filled
 *
 * Entries of one location follow each other.
 *
 * Return: false when there are no more.
 */
bool te_matrix_next(const struct te_matrix *matrix, u32 *pos,
		    struct te_topology_entry *entry);
/* Takes @matrix; NULL: none from now on. */
void te_topo_load(struct te_matrix *matrix);
/* Return: a copy of what is loaded, NULL nothing is, ERR_PTR(-ENOMEM). */
struct te_matrix *te_topo_copy(void);

void te_topo_exit(void);

#endif /* TE_TOPO_H */
