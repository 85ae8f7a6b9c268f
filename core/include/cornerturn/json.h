/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes JSON, by json-glib.
 *
 * This adds what json-glib lacks: a member's key and value in one call, texts that may be NULL or
 * not UTF-8, and numbers that read well: json-glib prints 0.1 as 0.10000000000000001, and 1e20 as
 * 1e+20.0, which is not JSON. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

/* A document that is being written: a JsonBuilder of json-glib. */
typedef struct _JsonBuilder CtJson;

/* Begins a document, which is an object. */
CT_EXPORT CtJson *ct_json_new(void);
/* Ends the document and frees it. Returns its text, allocated: lines that are indented, with a
 * final line feed, if `is_pretty`, or else one line without a line feed. */
CT_EXPORT char *ct_json_free_to_text(CtJson *json, gboolean is_pretty);

/* Each adds a value. `key` is its name in the object that is open; NULL in an array. */
CT_EXPORT void ct_json_begin_object(CtJson *json, const char *key);
CT_EXPORT void ct_json_end_object(CtJson *json);
CT_EXPORT void ct_json_begin_array(CtJson *json, const char *key);
CT_EXPORT void ct_json_end_array(CtJson *json);
/* `null` if the text is NULL. What is not UTF-8 becomes U+FFFD. */
CT_EXPORT void ct_json_add_text(CtJson *json, const char *key, const char *text);
CT_EXPORT void ct_json_add_boolean(CtJson *json, const char *key, gboolean value);
CT_EXPORT void ct_json_add_integer(CtJson *json, const char *key, gint64 value);
CT_EXPORT void ct_json_add_unsigned(CtJson *json, const char *key, guint64 value);
/* With spaces in front if it has fewer than `width` characters. */
CT_EXPORT void ct_json_add_padded(CtJson *json, const char *key, gint64 value, gint width);
/* With 15 digits if they read back as `value`, or else with 16 or 17; `null` if it is not finite.
 */
CT_EXPORT void ct_json_add_real(CtJson *json, const char *key, gdouble value);
/* Lists of `n` numbers, on one line. */
CT_EXPORT void ct_json_add_reals(CtJson *json, const char *key, const gdouble *values, gsize n);
CT_EXPORT void ct_json_add_integers(CtJson *json, const char *key, const gint64 *values, gsize n);

/* How many objects and lists of a text are in one another at most. The parser of json-glib calls
 * itself for each of them, so a reader asks before it parses what others have written. */
CT_EXPORT guint ct_json_depth(const char *text, gsize length);

G_END_DECLS
