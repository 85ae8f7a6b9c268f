/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells the service manager how the command fares: datagrams to $NOTIFY_SOCKET, by the protocol of
 * sd_notify(3). */
#define _GNU_SOURCE
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The address of the manager; its length, 0: there is none. */
static socklen_t
find_manager(struct sockaddr_un *address)
{
    const char *path = secure_getenv("NOTIFY_SOCKET");
    const gsize length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address->sun_path || !strchr("/@", path[0]))
        return 0;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, path, length);
    if (path[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

void
ct_command_notify(const char *format, ...)
{
    struct sockaddr_un address;
    const socklen_t length = find_manager(&address);
    const int one = length ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (one < 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    /* A manager that is gone or busy holds no run up. */
    sendto(one, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, length);
    close(one);
}

gint64
ct_command_watchdog(void)
{
    const char *period = secure_getenv("WATCHDOG_USEC"), *process = secure_getenv("WATCHDOG_PID");
    guint64 microseconds, number;
    if (!period || !g_ascii_string_to_unsigned(period, 10, 1, G_MAXINT64, &microseconds, NULL))
        return 0;
    if (process && (!g_ascii_string_to_unsigned(process, 10, 1, G_MAXINT64, &number, NULL) ||
                    number != (guint64)getpid()))
        return 0;
    return (gint64)microseconds;
}
