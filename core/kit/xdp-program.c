/* SPDX-License-Identifier: BSD-3-Clause */
/* The program in the instructions of BPF, its two maps, and its link to an interface. */
#include "xdp-program.h"

#include "cornerturn/error.h"
#include "cornerturn/packets.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* The addresses that one interface has sockets for. */
enum { MOST_SOCKETS = 256 };

struct CtXdpProgram {
    int addresses; /* a hash: Key → slot (guint32) */
    int sockets;   /* an array: slot → socket */
    int program, link;
    gboolean is_used[MOST_SOCKETS]; /* slots */
};

/* A key of the map of addresses. */
typedef struct {
    guint8 host[16]; /* IPv4: ::ffff:ADDRESS */
    guint16 port;    /* host and port in network order */
    guint16 zero;
    guint32 queue;
} Key;

/* ---- the program ---- */

/* Names of lines: where jumps go to, and what is set when the program is loaded. */
typedef enum { NONE, LENGTH, TAGGED, UNTAGGED, VERSION_6, MATCH, ADDRESSES, SOCKETS, PASS } Label;

typedef struct {
    struct bpf_insn code;
    Label to; /* the line to which it jumps */
    Label label;
} Line;

/* Registers: 0 for results, 1 … 5 for arguments, which calls do not keep, 6, which they keep, and
 * the end of the stack. Below that, the key is made. */
enum { R0, R1, R2, R3, R4, R5, R6, STACK = BPF_REG_10 };
enum {
    KEY = -(int)sizeof(Key),
    HOST = KEY + (int)offsetof(Key, host),
    PORT = KEY + (int)offsetof(Key, port),
    ZERO = KEY + (int)offsetof(Key, zero),
    QUEUE = KEY + (int)offsetof(Key, queue)
};

#define MOVE(to, from)                   .code = {BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0}
#define SET(to, value)                   .code = {BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value}
#define ADD(to, value)                   .code = {BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value}
#define AND(to, value)                   .code = {BPF_ALU64 | BPF_AND | BPF_K, to, 0, 0, value}
#define LOAD(size, to, from, at)         .code = {BPF_LDX | BPF_MEM | (size), to, from, at, 0}
#define STORE(size, to, at, from)        .code = {BPF_STX | BPF_MEM | (size), to, from, at, 0}
#define STORE_VALUE(size, to, at, value) .code = {BPF_ST | BPF_MEM | (size), to, 0, at, value}
/* 16 bits, which were in network order. */
#define SWAP(to)               .code = {BPF_ALU | BPF_END | BPF_TO_BE, to, 0, 0, 16}
#define GO()                   .code = {BPF_JMP | BPF_JA, 0, 0, 0, 0}
#define IF_EQUAL(a, value)     .code = {BPF_JMP | BPF_JEQ | BPF_K, a, 0, 0, value}
#define UNLESS_EQUAL(a, value) .code = {BPF_JMP | BPF_JNE | BPF_K, a, 0, 0, value}
#define IF_MORE(a, b)          .code = {BPF_JMP | BPF_JGT | BPF_X, a, b, 0, 0}
/* The number of a map, which is set when the program is loaded, takes the next line, too. */
#define MAP(to)        .code = {BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, 0}
#define CALL(function) .code = {BPF_JMP | BPF_CALL, 0, 0, 0, function}
#define EXIT()         .code = {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}

enum {
    TYPE = 12, /* where a header of Ethernet without tags has its type */
    IP = ETH_HLEN,
    TAG = 4,
    IPV4 = 20, /* bytes of headers; with options they are longer */
    IPV6 = 40,
    UDP = 8,
    TO_PORT = 2, /* where a header of UDP has the port to which it was sent */
    IS_UDP = 17
};

static const Line lines[] = {
    /* 2 is the begin of the frame, 3 its end, as far as the program sees it. */
    {MOVE(R6, R1)},
    {LOAD(BPF_W, R2, R1, offsetof(struct xdp_md, data))},
    {LOAD(BPF_W, R3, R1, offsetof(struct xdp_md, data_end))},
    /* A frame that is longer than the socket takes goes to the kernel. */
    {MOVE(R4, R2)},
    {ADD(R4, 0), .label = LENGTH},
    {IF_MORE(R3, R4), PASS},
    /* 5 is the type. */
    {MOVE(R4, R2)},
    {ADD(R4, IP)},
    {IF_MORE(R4, R3), PASS},
    {LOAD(BPF_H, R5, R2, TYPE)},
    {SWAP(R5)},
    /* With a tag of a VLAN, 2 is moved so that what follows is where it is without. */
    {IF_EQUAL(R5, ETH_P_8021Q), TAGGED},
    {UNLESS_EQUAL(R5, ETH_P_8021AD), UNTAGGED},
    {ADD(R2, TAG), .label = TAGGED},
    {MOVE(R4, R2)},
    {ADD(R4, IP)},
    {IF_MORE(R4, R3), PASS},
    {LOAD(BPF_H, R5, R2, TYPE)},
    {SWAP(R5)},
    {IF_EQUAL(R5, ETH_P_IPV6), VERSION_6, UNTAGGED},
    {UNLESS_EQUAL(R5, ETH_P_IP), PASS},
    /* IPv4, all of the headers: version 4, 5 words of it, which is no options. */
    {MOVE(R4, R2)},
    {ADD(R4, IP + IPV4 + UDP)},
    {IF_MORE(R4, R3), PASS},
    {LOAD(BPF_B, R5, R2, IP)},
    {UNLESS_EQUAL(R5, 0x45), PASS},
    /* Neither a fragment behind which there are more, nor one with an offset. */
    {LOAD(BPF_H, R5, R2, IP + 6)},
    {SWAP(R5)},
    {AND(R5, 0x3fff)},
    {UNLESS_EQUAL(R5, 0), PASS},
    {LOAD(BPF_B, R5, R2, IP + 9)},
    {UNLESS_EQUAL(R5, IS_UDP), PASS},
    /* The host of the key is ::ffff:ADDRESS; 5 is the port. */
    {STORE_VALUE(BPF_DW, STACK, HOST, 0)},
    {STORE_VALUE(BPF_H, STACK, HOST + 8, 0)},
    {STORE_VALUE(BPF_H, STACK, HOST + 10, 0xffff)},
    {LOAD(BPF_W, R5, R2, IP + 16)},
    {STORE(BPF_W, STACK, HOST + 12, R5)},
    {LOAD(BPF_H, R5, R2, IP + IPV4 + TO_PORT)},
    {GO(), MATCH},
    /* IPv6, of which a fragment has another header before that of UDP. */
    {MOVE(R4, R2), .label = VERSION_6},
    {ADD(R4, IP + IPV6 + UDP)},
    {IF_MORE(R4, R3), PASS},
    {LOAD(BPF_B, R5, R2, IP + 6)},
    {UNLESS_EQUAL(R5, IS_UDP), PASS},
    {LOAD(BPF_W, R5, R2, IP + 24)},
    {STORE(BPF_W, STACK, HOST, R5)},
    {LOAD(BPF_W, R5, R2, IP + 28)},
    {STORE(BPF_W, STACK, HOST + 4, R5)},
    {LOAD(BPF_W, R5, R2, IP + 32)},
    {STORE(BPF_W, STACK, HOST + 8, R5)},
    {LOAD(BPF_W, R5, R2, IP + 36)},
    {STORE(BPF_W, STACK, HOST + 12, R5)},
    {LOAD(BPF_H, R5, R2, IP + IPV6 + TO_PORT)},
    /* The rest of the key: the port, and the queue, since a socket takes frames of one alone. */
    {STORE(BPF_H, STACK, PORT, R5), .label = MATCH},
    {STORE_VALUE(BPF_H, STACK, ZERO, 0)},
    {LOAD(BPF_W, R5, R6, offsetof(struct xdp_md, rx_queue_index))},
    {STORE(BPF_W, STACK, QUEUE, R5)},
    /* 0 is where the slot of this key stands, or NULL. */
    {MAP(R1), .label = ADDRESSES},
    {{0}},
    {MOVE(R2, STACK)},
    {ADD(R2, KEY)},
    {CALL(BPF_FUNC_map_lookup_elem)},
    {IF_EQUAL(R0, 0), PASS},
    /* The frame goes to the socket in the slot; to the kernel, if there is none. */
    {LOAD(BPF_W, R2, R0, 0)},
    {MAP(R1), .label = SOCKETS},
    {{0}},
    {SET(R3, XDP_PASS)},
    {CALL(BPF_FUNC_redirect_map)},
    {EXIT()},
    {SET(R0, XDP_PASS), .label = PASS},
    {EXIT()},
};

enum { N_LINES = G_N_ELEMENTS(lines) };

static guint
find_line(Label label)
{
    guint i = 0;
    while (lines[i].label != label)
        i++;
    return i;
}

static int
load(const CtXdpProgram *program, guint most)
{
    struct bpf_insn code[N_LINES];
    for (guint i = 0; i < N_LINES; i++) {
        code[i] = lines[i].code;
        if (lines[i].to != NONE)
            code[i].off = (gint16)(find_line(lines[i].to) - i - 1);
    }
    code[find_line(LENGTH)].imm = most > 0 ? (gint32)most : G_MAXUINT16;
    code[find_line(ADDRESSES)].imm = program->addresses;
    code[find_line(SOCKETS)].imm = program->sockets;
    LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = most > 0 ? 0 : BPF_F_XDP_HAS_FRAGS,
                .expected_attach_type = BPF_XDP);
    return bpf_prog_load(BPF_PROG_TYPE_XDP, "cornerturn", "Dual BSD/GPL", code, N_LINES, &options);
}

/* ---- its life ---- */

gboolean
ct_xdp_fail(GError **error, const char *path, const char *what)
{
    if (errno != EPERM && errno != EACCES)
        return ct_file_error(error, path, what);
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants the privileges CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, but the process "
                "lacks some of them",
                path);
    return FALSE;
}

static gboolean
attach(CtXdpProgram *program, guint interface, const char *path, GError **error)
{
    program->link = bpf_link_create(program->program, (int)interface, BPF_XDP, NULL);
    if (program->link >= 0)
        return TRUE;
    return ct_xdp_fail(error, path,
                       errno == EBUSY ? "the interface has a program of XDP already, of another "
                                        "process"
                                      : "the interface does not take a program of XDP");
}

CtXdpProgram *
ct_xdp_program_new(guint interface, guint most, const char *path, GError **error)
{
    CtXdpProgram *program = g_new0(CtXdpProgram, 1);
    program->program = program->link = -1;
    program->addresses = bpf_map_create(BPF_MAP_TYPE_HASH, "cornerturn", sizeof(Key),
                                        sizeof(guint32), MOST_SOCKETS, NULL);
    program->sockets = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "cornerturn", sizeof(guint32),
                                      sizeof(gint32), MOST_SOCKETS, NULL);
    if (program->addresses >= 0 && program->sockets >= 0)
        program->program = load(program, most);
    if (program->program < 0)
        ct_xdp_fail(error, path, "the kernel does not take the program of XDP");
    else if (attach(program, interface, path, error))
        return program;
    ct_xdp_program_free(program);
    return NULL;
}

void
ct_xdp_program_free(CtXdpProgram *program)
{
    if (!program)
        return;
    const int all[] = {program->link, program->program, program->sockets, program->addresses};
    for (guint i = 0; i < G_N_ELEMENTS(all); i++)
        if (all[i] >= 0)
            close(all[i]);
    g_free(program);
}

/* ---- addresses ---- */

static Key
make_key(const CtAddress *address, guint queue)
{
    Key key = {.port = address->in.sin_port, .queue = queue};
    if (address->is_6) {
        memcpy(key.host, &address->in6.sin6_addr, sizeof key.host);
    } else {
        key.host[10] = key.host[11] = 0xff;
        memcpy(key.host + 12, &address->in.sin_addr, 4);
    }
    return key;
}

/* The free slot with the least number; MOST_SOCKETS if there is none. */
static guint
find_slot(const CtXdpProgram *program)
{
    guint slot = 0;
    while (slot < MOST_SOCKETS && program->is_used[slot])
        slot++;
    return slot;
}

int
ct_xdp_program_add(CtXdpProgram *program, const CtAddress *address, guint queue, int fd,
                   const char *path, GError **error)
{
    const guint32 slot = find_slot(program);
    const Key key = make_key(address, queue);
    if (slot == MOST_SOCKETS) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: wants at most %d addresses of an interface",
                    path, MOST_SOCKETS);
        return -1;
    }
    if (bpf_map_update_elem(program->sockets, &slot, &fd, 0) != 0 ||
        bpf_map_update_elem(program->addresses, &key, &slot, BPF_NOEXIST) != 0) {
        ct_xdp_fail(error, path,
                    errno == EEXIST ? "the process receives from this address already"
                                    : "the program of XDP does not take the address");
        bpf_map_delete_elem(program->sockets, &slot);
        return -1;
    }
    program->is_used[slot] = TRUE;
    return (int)slot;
}

void
ct_xdp_program_remove(CtXdpProgram *program, const CtAddress *address, guint queue, int slot)
{
    const Key key = make_key(address, queue);
    const guint32 at = (guint32)slot;
    bpf_map_delete_elem(program->addresses, &key);
    bpf_map_delete_elem(program->sockets, &at);
    program->is_used[slot] = FALSE;
}
