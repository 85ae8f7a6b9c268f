/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what a plugin must have to receive packets from the network. */
#include "packets-test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

static const CtParam network_params[] = {
    {"path", CT_PARAM_PATH, CT_PARAM_LIST}, CT_SOURCE_RECEIVE_PARAMS, {NULL}};
static const CtStage network_stage = {
    .name = "toy", .params = network_params, .counters = CT_PACKET_COUNTERS};

/* Somebody who sends packets to a port as long as it is wanted. */
typedef struct {
    pthread_t thread;
    atomic_bool stops;
    struct sockaddr_in to;
    char *path;
} Sender;

static gpointer
send_packets(gpointer data)
{
    Sender *sender = data;
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    g_assert_cmpint(fd, >=, 0);
    for (gint64 stamp = 0; !atomic_load(&sender->stops); stamp += SAMPLES) {
        guint8 packet[PACKET];
        make_packet(packet, stamp);
        sendto(fd, packet, sizeof packet, 0, (const struct sockaddr *)&sender->to,
               sizeof sender->to);
        g_usleep(1000);
    }
    close(fd);
    return NULL;
}

static void
sender_init(Sender *sender)
{
    *sender = (Sender){.to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof sender->to;
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    g_assert_cmpint(bind(fd, (const struct sockaddr *)&sender->to, length), ==, 0);
    g_assert_cmpint(getsockname(fd, (struct sockaddr *)&sender->to, &length), ==, 0);
    close(fd);
    sender->path = g_strdup_printf("udp://127.0.0.1:%u", ntohs(sender->to.sin_port));
    g_assert_cmpint(pthread_create(&sender->thread, NULL, send_packets, sender), ==, 0);
}

static void
sender_clear(Sender *sender)
{
    atomic_store(&sender->stops, TRUE);
    pthread_join(sender->thread, NULL);
    g_free(sender->path);
}

static void
refuse(const CtSource *source, const CtStage *stage, const char *path, const char *message)
{
    const CtPlace place = {"g", 1, 1};
    g_autofree char *text = g_strdup_printf("{ path: '%s' }", path);
    g_autoptr(CtValue) values = ct_value_parse(text, -1, "g", NULL);
    CtParams *params = ct_params_new("x", stage, &place, values, NULL);
    CtStream stream;
    ct_stream_init(&stream);
    CtNode node = {.stage = stage, .params = params, .n_outputs = 1, .outputs = &stream};
    g_autoptr(GError) error = NULL;
    g_assert_false(ct_source_infer(source, &node, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
    g_assert_cmpstr(error->message, ==, message);
    ct_stream_clear(&stream);
    ct_params_free(params);
}

static gboolean
overlapping_order(CtRecording *recording, const CtParams *given, GError **error)
{
    recording->overlap = 1;
    return toy_order(recording, given, error);
}

static void
test_faults(void)
{
    static const char *const few[] = {"packets",   "reordered", "restamped", "missing",
                                      "duplicate", "flagged",   "corrupt",   "truncated",
                                      "stray",     "mistimed",  NULL};
    Sender sender;
    sender_init(&sender);
    CtStage stage = network_stage;
    stage.counters = few;
    refuse(&toy, &stage, sender.path,
           "stage 'toy' has other counters than .counters = CT_PACKET_COUNTERS");
    CtSource source = toy;
    source.order = overlapping_order;
    refuse(&source, &network_stage, sender.path,
           "the plugin for toy packets is at fault: it wants a lane for each address, and packets "
           "that do not overlap");
    refuse(&toy, &network_stage, sender.path,
           "the plugin for toy packets is at fault: it describes a stream without a sample rate, "
           "which packets that are received must have");
    sender_clear(&sender);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reception/faults", test_faults);
    return g_test_run();
}
