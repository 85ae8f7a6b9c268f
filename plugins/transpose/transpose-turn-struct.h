/* SPDX-License-Identifier: BSD-3-Clause */
/* A transpose in tiles, called a *turn*, shared by host and kernel: a strided copy through shared
 * memory, read in the order of the input and written in the order of the output.
 *
 * A tile is a box of *units*, the bytes that are moved together, and its sides are powers of two:
 * the bits of a unit's number are those of its indices, in one order or the other, so that
 * addresses are sums over bits. A *word* is `group` units that are contiguous in the input, or in
 * the output; memory moves in words on both sides. If a group is larger than 1, a tile consists of
 * squares of group by group units, which a thread transposes in its registers. */
#pragma once

#include <cornerturn/kit/device-map-struct.h>

enum {
    TURN_THREAD_BITS = 9, /* of a block's threads at most */
    TURN_ROUNDS = 32,     /* at most, words or squares of a tile for each thread */
    TURN_AXES = 12,
    TURN_EDGES = 6,
    TURN_GROUP = 4, /* at most */
};

/* Tiles along an axis. If `edge` is not −1 they may extend beyond the axis, as the edge of that
 * number: only units first … end − 1 of the axis exist. */
typedef struct {
    CtDeviceDivisor tiles;
    int edge;
    unsigned tile, first, end; /* units; `tile` of them in a tile */
    long long in, out;         /* bytes from tile to tile */
} TurnAxis;

/* The bits of a number that are indices of an axis with an edge: a number of units, or of words of
 * one side, where a word has `per_unit` units for each that the edge counts. */
enum { TURN_UNITS, TURN_IN_WORDS, TURN_OUT_WORDS };
typedef struct {
    int edge;
    unsigned shift, mask;
    int kind, per_unit;
} TurnIndex;

/* A loop over the words of a tile, or over its squares. The low bits of a number are those of the
 * thread, the high ones those of the round; offsets in memory are summed, those in shared memory
 * are XORed. */
typedef struct {
    unsigned n_threads, n_rounds; /* that have work */
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
