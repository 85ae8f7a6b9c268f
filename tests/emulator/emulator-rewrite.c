/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewrites CUDA C++ to C++: declarations with __shared__ and __global__ in preprocessed source.
 *
 *   __shared__ float x[4][5];        a struct of it, and x a reference into the block's memory
 *   extern __shared__ float y[];     float *y, the launch's memory
 *   extern "C" __global__ void __launch_bounds__(n) k(…)    without those words, and a row of the
 *                                                           table of kernels
 */
#include "emulator-image.h"

#include <string.h>

typedef struct {
    const char *text;
    gsize length;
    enum { SPACE, WORD, LITERAL, MARK } kind; /* directives are space */
} Token;

typedef struct {
    char *name;
    char *max_threads;
} Kernel;

typedef enum { LOCAL, NAMESPACE, LINKAGE /* extern "C" */, N_BRACES } Brace;

typedef struct {
    GArray *tokens;
    GString *out;
    GPtrArray *kernels;
    GHashTable *shared; /* names at file scope → their replacements */
    GArray *braces;     /* of Brace: the open ones */
    unsigned n_open[N_BRACES];
    unsigned n_shared;
} Rewrite;

/* ---- tokens ---- */

static gboolean
is_word(char c)
{
    return g_ascii_isalnum(c) || c == '_' || c == '$' || (c & 0x80);
}

static gsize
literal_length(const char *text)
{
    gsize n = 1;
    while (text[n] && text[n] != text[0])
        n += text[n] == '\\' && text[n + 1] ? 2 : 1;
    return text[n] ? n + 1 : n;
}

static Token
next_token(const char *text, gboolean line_begins)
{
    Token token = {text, 1, MARK};
    if (*text == '#' && line_begins) {
        token.length = strcspn(text, "\n");
        token.kind = SPACE;
    } else if (g_ascii_isspace(*text)) {
        token.length = strspn(text, *text == '\n' ? "\n" : " \t\r\v\f");
        token.kind = SPACE;
    } else if (is_word(*text)) {
        while (is_word(text[token.length]) ||
               (g_ascii_isdigit(*text) && strchr(".'", text[token.length]) && text[token.length]))
            token.length++;
        token.kind = WORD;
    } else if (*text == '"' || *text == '\'') {
        token.length = literal_length(text);
        token.kind = LITERAL;
    }
    return token;
}

static GArray *
tokenise(const char *text)
{
    GArray *tokens = g_array_new(FALSE, FALSE, sizeof(Token));
    gboolean line_begins = TRUE;
    while (*text) {
        const Token token = next_token(text, line_begins);
        g_array_append_val(tokens, token);
        line_begins =
            *token.text == '\n' || (line_begins && token.kind == SPACE && *token.text != '#');
        text += token.length;
    }
    return tokens;
}

static const Token *
token_at(const Rewrite *rewrite, guint i)
{
    return &g_array_index(rewrite->tokens, Token, i);
}

static gboolean
is(const Token *token, const char *text)
{
    return token->length == strlen(text) && strncmp(token->text, text, token->length) == 0;
}

static gboolean
is_one_of(const Token *token, const char *marks)
{
    return token->kind == MARK && strchr(marks, *token->text) != NULL;
}

/* The index behind the bracket that closes the one at i. */
static guint
behind_brackets(const Rewrite *rewrite, guint i, guint end)
{
    unsigned depth = 0;
    for (; i < end; i++) {
        if (is_one_of(token_at(rewrite, i), "([{"))
            depth++;
        else if (is_one_of(token_at(rewrite, i), ")]}") && --depth == 0)
            return i + 1;
    }
    return end;
}

static guint
next_solid(const Rewrite *rewrite, guint i, guint end)
{
    while (i < end && token_at(rewrite, i)->kind == SPACE)
        i++;
    return i;
}

/* The last token before i that is not space, or NULL. */
static const Token *
solid_before(const Rewrite *rewrite, guint i)
{
    while (i > 0)
        if (token_at(rewrite, --i)->kind != SPACE)
            return token_at(rewrite, i);
    return NULL;
}

static void
put(Rewrite *rewrite, const Token *token)
{
    g_string_append_len(rewrite->out, token->text, (gssize)token->length);
}

static void
put_lines(Rewrite *rewrite, guint begin, guint end)
{
    for (guint i = begin; i < end; i++) {
        const Token *token = token_at(rewrite, i);
        for (gsize c = 0; token->kind == SPACE && *token->text == '\n' && c < token->length; c++)
            g_string_append_c(rewrite->out, '\n');
    }
}

/* ---- shared memory ---- */

/* The declaration without the words for its storage; `plain`: without alignment as well. */
static char *
declaration(const Rewrite *rewrite, guint begin, guint end, gboolean plain)
{
    GString *text = g_string_new(NULL);
    for (guint i = begin; i < end; i++) {
        const Token *token = token_at(rewrite, i);
        if (is(token, "__shared__") || is(token, "static") || is(token, "extern"))
            continue;
        if (plain && (is(token, "alignas") || is(token, "__attribute__"))) {
            i = behind_brackets(rewrite, i, end) - 1;
            continue;
        }
        if (token->kind == SPACE)
            g_string_append_c(text, ' ');
        else
            g_string_append_len(text, token->text, (gssize)token->length);
    }
    return g_string_free(text, FALSE);
}

/* The names that a declaration declares. */
static GPtrArray *
declared_names(const Rewrite *rewrite, guint begin, guint end)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const Token *name = NULL;
    gboolean bounded = FALSE; /* behind the name */
    int angles = 0;
    for (guint i = begin; i <= end; i++) {
        const Token *token = i < end ? token_at(rewrite, i) : NULL;
        if (!token || (angles == 0 && is(token, ","))) {
            if (name)
                g_ptr_array_add(names, g_strndup(name->text, name->length));
            name = NULL;
            bounded = FALSE;
        } else if (is(token, "<") && !bounded) {
            angles++;
        } else if (is(token, ">") && angles > 0) {
            angles--;
        } else if (is_one_of(token, "([{")) {
            bounded |= angles == 0 && is(token, "[");
            i = behind_brackets(rewrite, i, end) - 1;
        } else if (token->kind == WORD && angles == 0 && !bounded) {
            name = token;
        }
    }
    return names;
}

static void
put_launch_memory(Rewrite *rewrite, guint begin, guint end)
{
    guint type_end = begin;
    while (type_end < end && !is(token_at(rewrite, type_end), "["))
        type_end++;
    g_autoptr(GPtrArray) names = declared_names(rewrite, begin, end);
    const char *name = names->len ? names->pdata[0] : "";
    while (type_end > begin && !is(token_at(rewrite, type_end), name))
        type_end--;
    g_autofree char *type = declaration(rewrite, begin, type_end, TRUE);
    if (rewrite->n_open[LOCAL] > 0)
        g_string_append_printf(rewrite->out, "%s *%s = (%s *)ct_emulated_dynamic();", type, name,
                               type);
    else
        g_hash_table_insert(rewrite->shared, g_strdup(name),
                            g_strdup_printf("((%s *)ct_emulated_dynamic())", type));
}

static void
put_shared(Rewrite *rewrite, guint begin, guint end)
{
    const unsigned k = rewrite->n_shared++;
    g_autofree char *text = declaration(rewrite, begin, end, FALSE);
    g_autoptr(GPtrArray) names = declared_names(rewrite, begin, end);
    g_string_append_printf(
        rewrite->out,
        "struct ct_shared_%u { %s; }; static char ct_key_%u; auto &ct_at_%u = *(ct_shared_%u *)"
        "ct_emulated_shared(&ct_key_%u, sizeof(ct_shared_%u), alignof(ct_shared_%u));",
        k, text, k, k, k, k, k, k);
    for (guint n = 0; n < names->len; n++)
        g_string_append_printf(rewrite->out, " auto &%s = ct_at_%u.%s;",
                               (const char *)names->pdata[n], k, (const char *)names->pdata[n]);
}

/* ---- kernels ---- */

static void
kernel_free(gpointer data)
{
    Kernel *kernel = data;
    g_free(kernel->name);
    g_free(kernel->max_threads);
    g_free(kernel);
}

/* The first argument within the brackets that open at i. */
static char *
first_argument(const Rewrite *rewrite, guint i, guint end)
{
    GString *text = g_string_new(NULL);
    const guint close = behind_brackets(rewrite, i, end) - 1;
    int depth = 0;
    for (i++; i < close; i++) {
        const Token *token = token_at(rewrite, i);
        depth += is_one_of(token, "([{") - is_one_of(token, ")]}");
        if (depth == 0 && is(token, ","))
            break;
        g_string_append_len(text, token->text, (gssize)token->length);
    }
    return g_string_free(text, FALSE);
}

static void
add_kernel(Rewrite *rewrite, const Token *name, char *max_threads)
{
    Kernel *kernel = g_new(Kernel, 1);
    *kernel = (Kernel){g_strndup(name->text, name->length), max_threads ?: g_strdup("0")};
    for (guint k = 0; k < rewrite->kernels->len; k++)
        if (strcmp(((Kernel *)rewrite->kernels->pdata[k])->name, kernel->name) == 0) {
            kernel_free(kernel);
            return;
        }
    g_ptr_array_add(rewrite->kernels, kernel);
}

/* Writes a kernel's declaration up to its name; returns the index behind that. */
static guint
put_kernel(Rewrite *rewrite, guint begin, guint end)
{
    gboolean named_in_c = rewrite->n_open[LINKAGE] > 0;
    char *max_threads = NULL;
    const Token *name = NULL;
    guint i = begin;
    for (; i < end; i++) {
        const Token *token = token_at(rewrite, i);
        const guint open = next_solid(rewrite, i + 1, end);
        const gboolean opens = open < end && is(token_at(rewrite, open), "(");
        if (is(token, "__global__"))
            continue;
        if (is(token, "__launch_bounds__") && opens) {
            g_free(max_threads);
            max_threads = first_argument(rewrite, open, end);
            i = behind_brackets(rewrite, open, end) - 1;
            continue;
        }
        named_in_c |= is(token, "\"C\"");
        put(rewrite, token);
        if (token->kind == WORD && opens && !is(token, "__attribute__") && !is(token, "alignas") &&
            !is(token, "decltype")) {
            name = token;
            i++;
            break;
        }
    }
    if (name && named_in_c)
        add_kernel(rewrite, name, max_threads);
    else
        g_free(max_threads);
    return i;
}

static void
put_table(Rewrite *rewrite)
{
    g_string_append(rewrite->out, "\n# 1 \"kernels\"\n"
                                  "static const CtKernelDescription ct_kernels[] = {\n");
    for (guint k = 0; k < rewrite->kernels->len; k++) {
        const Kernel *kernel = rewrite->kernels->pdata[k];
        g_string_append_printf(rewrite->out, "    ct_emulated_describe<%s>(\"%s\", %s),\n",
                               kernel->name, kernel->name, kernel->max_threads);
    }
    g_string_append_printf(rewrite->out,
                           "    {}};\n"
                           "extern \"C\" __attribute__((visibility(\"default\"))) const "
                           "CtModuleDescription ct_emulated_module = {CT_ABI, %u, ct_kernels};\n",
                           rewrite->kernels->len);
}

/* ---- statements ---- */

/* The end of a declaration that begins at i: `;`, `{` or `}` outside brackets. */
static guint
declaration_end(const Rewrite *rewrite, guint i)
{
    const guint n = rewrite->tokens->len;
    while (i < n && !is_one_of(token_at(rewrite, i), ";{}"))
        i = is_one_of(token_at(rewrite, i), "([") ? behind_brackets(rewrite, i, n) : i + 1;
    return i;
}

static guint
find(const Rewrite *rewrite, guint begin, guint end, const char *word)
{
    while (begin < end && !is(token_at(rewrite, begin), word))
        begin++;
    return begin;
}

/* Writes a declaration that begins at i if it is one of these; returns the index behind it, or
 * i. */
static guint
put_declaration(Rewrite *rewrite, guint i)
{
    const guint n = rewrite->tokens->len;
    guint end = declaration_end(rewrite, i);
    if (find(rewrite, i, end, "__global__") < end)
        return put_kernel(rewrite, i, end);
    if (find(rewrite, i, end, "__shared__") == end)
        return i;
    while (end < n && !is(token_at(rewrite, end), ";"))
        end = is(token_at(rewrite, end), "{") ? behind_brackets(rewrite, end, n) : end + 1;
    if (find(rewrite, i, end, "extern") < end)
        put_launch_memory(rewrite, i, end);
    else
        put_shared(rewrite, i, end);
    put_lines(rewrite, i, end);
    return end + 1;
}

static void
open_brace(Rewrite *rewrite, guint i)
{
    guint word = i;
    while (word > 0 && (token_at(rewrite, word - 1)->kind == SPACE))
        word--;
    const Token *before = solid_before(rewrite, i);
    const Token *earlier = word > 0 ? solid_before(rewrite, word - 1) : NULL;
    Brace brace = LOCAL;
    if (before && is(before, "\"C\""))
        brace = LINKAGE;
    else if (before && (is(before, "namespace") ||
                        (earlier && before->kind == WORD && is(earlier, "namespace"))))
        brace = NAMESPACE;
    g_array_append_val(rewrite->braces, brace);
    rewrite->n_open[brace]++;
}

static void
close_brace(Rewrite *rewrite)
{
    const guint n = rewrite->braces->len;
    if (n == 0)
        return;
    rewrite->n_open[g_array_index(rewrite->braces, Brace, n - 1)]--;
    g_array_set_size(rewrite->braces, n - 1);
}

static void
put_word(Rewrite *rewrite, guint i)
{
    const Token *token = token_at(rewrite, i), *before = solid_before(rewrite, i);
    g_autofree char *word = g_strndup(token->text, token->length);
    const char *other = g_hash_table_lookup(rewrite->shared, word);
    if (other && !(before && is_one_of(before, ".>:")))
        g_string_append(rewrite->out, other);
    else
        put(rewrite, token);
}

char *
emulator_rewrite(const char *source)
{
    g_autoptr(GArray) tokens = tokenise(source);
    g_autoptr(GPtrArray) kernels = g_ptr_array_new_with_free_func(kernel_free);
    g_autoptr(GHashTable) shared = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GArray) braces = g_array_new(FALSE, FALSE, sizeof(Brace));
    Rewrite rewrite = {
        .tokens = tokens,
        .out = g_string_new(NULL),
        .kernels = kernels,
        .shared = shared,
        .braces = braces,
    };
    gboolean begins = TRUE;
    for (guint i = 0; i < tokens->len;) {
        const Token *token = token_at(&rewrite, i);
        if (begins && token->kind != SPACE) {
            const guint next = put_declaration(&rewrite, i);
            begins = next != i && is(token_at(&rewrite, next - 1), ";");
            if (next != i) {
                i = next;
                continue;
            }
        }
        if (is_one_of(token, "{"))
            open_brace(&rewrite, i);
        else if (is_one_of(token, "}"))
            close_brace(&rewrite);
        if (is_one_of(token, ";{}"))
            begins = TRUE;
        else if (token->kind != SPACE)
            begins = FALSE;
        if (token->kind == WORD)
            put_word(&rewrite, i);
        else
            put(&rewrite, token);
        i++;
    }
    put_table(&rewrite);
    return g_string_free(rewrite.out, FALSE);
}
