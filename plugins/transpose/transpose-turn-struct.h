/* SPDX-License-Identifier: BSD-3-Clause */
/* A turn, as host and kernel see it: a strided copy in tiles that go through shared memory, read in
 * the order of the input and written in the order of the output.
 *
 * A tile is a box of *units*, the bytes that stay together, and its sides are powers of two: the
 * bits of a unit's number are those of its indices, in the one order or the other, so that places
 * are sums over bits. A *word* is `group` units that follow one another in the input, or in the
 * output; memory moves in words on both sides. Where a group is not 1, a tile consists of squares
 * of group by group units, which a thread turns in its registers. */
#pragma once

#include "device-map-struct.h"

enum {
    TURN_THREAD_BITS = 9, /* of a block's threads at most */
    TURN_ROUNDS = 32,     /* words, or squares, of a tile for each thread at most */
    TURN_AXES = 12,
    TURN_EDGES = 6,
    TURN_GROUP = 4, /* at most */
};

/* Tiles along an axis. Where `edge` is not −1 they may stick out, as the edge of that number: units
 * first … end − 1 of the axis exist. */
typedef struct {
    DeviceDivisor tiles;
    int edge;
    unsigned tile, first, end; /* units; `tile` of them in a tile */
    long long in, out;         /* bytes from tile to tile */
} TurnAxis;

/* Where the indices of an axis that has an edge stand in a number: of units, or of words of one
 * side, of which a word has `per_unit` units for each that the edge counts. */
enum { TURN_UNITS, TURN_IN_WORDS, TURN_OUT_WORDS };
typedef struct {
    int edge;
    unsigned shift, mask;
    int kind, per_unit;
} TurnIndex;

/* A walk over the words of a tile, or over its squares. The number of one is that of the thread and
 * above it that of the round; bytes in memory are summed, those in shared memory are XORed. */
typedef struct {
    unsigned n_threads, n_rounds; /* that have something to do */
    long long thread_bits[TURN_THREAD_BITS], rounds[TURN_ROUNDS];
    unsigned thread_bits_shared[TURN_THREAD_BITS], rounds_shared[TURN_ROUNDS];
    unsigned n_indices;
    TurnIndex indices[TURN_EDGES];
} TurnWalk;

typedef struct {
    unsigned n_axes;
    TurnAxis axes[TURN_AXES]; /* the fastest first */
    TurnWalk read, written;
    long long in_group[TURN_GROUP]; /* bytes in the output between the units of an input's word */
    unsigned out_group[TURN_GROUP]; /* bytes in shared memory between the words of a square */
} Turn;
