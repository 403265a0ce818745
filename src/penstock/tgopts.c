/* tgopts.c - options of `penstock topograph`: one table for parser, help and completion
 *
 * What an option says of the provider or the engine is put into a request, under the name that the
 * HTTP interface has for it. */
#include "penstock/tgopts.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/readfile.h"
#include "base/timefmt.h"
#include "penstock/penstock.h"
#include "topograph/graph.h"
#include "topograph/read/docjson.h"

#define DOCUMENT_MAX (16u << 20) /* bytes of --instances and --topologies */

enum part { O_PROVIDER, O_ENGINE, O_OWN };
enum kind {
    K_NAME,  /* of provider or engine */
    K_TEXT,  /* a parameter */
    K_TEXTS, /* a parameter that is a list; may be repeated */
    K_FLAG,  /* a parameter that is true */
    K_COUNT,
    K_SIZES,  /* numbers with commas between */
    K_OBJECT, /* a file with a JSON object */
    K_OTHER
};

static const struct row {
    const char *name;
    char letter; /* 0 = none */
    enum part part;
    enum kind kind;
    const char *key; /* of the parameter; "a.b" = b of a */
    const char *metavar, *help;
} rows[] = {
    { "provider", 'p', O_PROVIDER, K_NAME, NULL, "NAME",
      "where the topology comes from: infiniband-bm, aws, gcp, oci, oci-imds, nebius, nscale, "
      "lambdai, netq, dra, kubernetes, model" },
    { "input", 'i', O_PROVIDER, K_TEXTS, "file", "FILE",
      "what the provider says; - reads stdin; may be repeated" },
    { "command", 0, O_PROVIDER, K_TEXT, "command", "PROGRAM",
      "what this prints is an input too (sh -c)" },
    { "accelerators", 'a', O_PROVIDER, K_TEXTS, "acceleratorFile", "FILE",
      "infiniband: NVLink cliques, as NODE: UUID, CLIQUE" },
    { "accelerator-command", 0, O_PROVIDER, K_TEXT, "acceleratorCommand", "PROGRAM",
      "what this prints, in place of --accelerators" },
    { "accelerator-source", 0, O_PROVIDER, K_TEXT, "accelerator.source", "NAME",
      "what --accelerators is: nvidia-smi (default), kubernetes-label, none" },
    { "clique-label", 0, O_PROVIDER, K_TEXT, "accelerator.kubernetesLabel.key", "KEY",
      "kubernetes: the label with a node's clique; default nvidia.com/gpu.clique" },
    { "trim-tiers", 0, O_PROVIDER, K_COUNT, "trimTiers", "N",
      "leave out this many tiers at the top, up to 2" },
    { "normalise", 0, O_PROVIDER, K_FLAG, "normalise", NULL, "name switches switch.LEVEL.NUMBER" },
    { "nodes", 'n', O_OWN, K_OTHER, NULL, "LIST", "these nodes alone" },
    { "instances", 0, O_OWN, K_OTHER, NULL, "FILE",
      "the same as JSON: [{\"instances\": {\"INSTANCE\": \"NODE\"}}]" },
    { "engine", 'e', O_ENGINE, K_NAME, NULL, "NAME",
      "what is written: slurm (default), dynamic, k8s, graph" },
    { "plugin", 'P', O_ENGINE, K_TEXT, "plugin", "NAME",
      "topology/tree (default), topology/block, topology/flat" },
    { "block-sizes", 'b', O_ENGINE, K_SIZES, "blockSizes", "N,...",
      "sizes of blocks and their aggregates; default: from the domains" },
    { "block-regexp", 0, O_ENGINE, K_TEXT, "blockName.nodeNameRegexp", "REGEXP",
      "blocks are named by names of their nodes: what matches here" },
    { "block-format", 0, O_ENGINE, K_TEXT, "blockName.format", "TEXT",
      "and what is made of it, as rack$1" },
    { "topologies", 't', O_ENGINE, K_OBJECT, "topologies", "FILE",
      "several topologies, JSON: {\"NAME\": {\"plugin\": ..., \"nodes\": [...]}}" },
    { "yaml", 'y', O_ENGINE, K_FLAG, "yaml", NULL, "slurm: write topology.yaml" },
    { "skeleton", 0, O_ENGINE, K_FLAG, "skeleton", NULL,
      "topology.yaml without nodes: they come by their own option" },
    { "output", 'o', O_OWN, K_OTHER, NULL, "FILE", "write here, whole or not at all" },
    { "apply", 'A', O_OWN, K_OTHER, NULL, NULL,
      "tell the running cluster (scontrol update NodeName= Topology=) what changed" },
    { "watch", 'w', O_OWN, K_OTHER, NULL, "SECONDS", "look again this often, until interrupted" },
    { "config", 'c', O_OWN, K_OTHER, NULL, "FILE", "serve: configuration, YAML" },
    { "listen", 'l', O_OWN, K_OTHER, NULL, "ADDRESS",
      "serve: HOST:PORT or unix:PATH; default " TGOPTS_LISTEN },
    { "data", 'd', O_OWN, K_OTHER, NULL, "DIR", "serve: the folder whose files requests may name" },
    { "delay", 0, O_OWN, K_OTHER, NULL, "SECONDS",
      "serve: requests of this time become one run; default 15" },
};

static int print_help(void)
{
    (void)puts("Usage: penstock topograph generate --provider NAME --input FILE [OPTIONS...]\n"
               "       penstock topograph serve [--config FILE] [OPTIONS...]\n\n"
               "Find out which nodes are near each other, and write topology files.\n");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        print_option(rows[i].letter, rows[i].name, rows[i].metavar, rows[i].help);
    (void)puts("\nManual: penstock-topograph(1)");
    return -1;
}

/* ---- the request ----------------------------------------------------------------------------- */

static json_t *object_at(json_t *object, const char *key)
{
    json_t *v = json_object_get(object, key);

    if (!v) {
        v = json_object();
        if (json_object_set_new(object, key, v) < 0)
            return NULL;
    }
    return v;
}

/* Set "a.b.c" of the parameters.  The value is taken. */
static int set_param(struct tgopts *o, const struct row *r, json_t *value)
{
    json_t *at =
        object_at(object_at(o->request, r->part == O_PROVIDER ? "provider" : "engine"), "params");
    char path[64], *rest = path;

    (void)snprintf(path, sizeof(path), "%s", r->key); /* of the table */
    for (char *dot; at && (dot = strchr(rest, '.')); rest = dot + 1) {
        *dot = '\0';
        at = object_at(at, rest);
    }
    return at && value && json_object_set_new(at, rest, value) == 0 ? STATUS_OK : say_nomem();
}

static int add_text(struct tgopts *o, const struct row *r, const char *text)
{
    const json_t *params = json_object_get(
        json_object_get(o->request, r->part == O_PROVIDER ? "provider" : "engine"), "params");
    json_t *list = json_object_get(params, r->key);

    if (!list) {
        list = json_array();
        if (set_param(o, r, list) != STATUS_OK)
            return STATUS_FAILED;
    }
    return json_array_append_new(list, json_string(text)) == 0 ? STATUS_OK
                                                               : usage_error("topograph: --%s: no "
                                                                             "UTF-8",
                                                                             r->name);
}

static int set_name(struct tgopts *o, const struct row *r, const char *text)
{
    json_t *part = object_at(o->request, r->name);

    return part && json_object_set_new(part, "name", json_string(text)) == 0
               ? STATUS_OK
               : usage_error("topograph: --%s: no UTF-8", r->name);
}

static int set_sizes(struct tgopts *o, const struct row *r, const char *text)
{
    json_t *list = json_array();

    for (const char *at = text; list && *at;) {
        size_t len = strcspn(at, ",");
        char number[24];
        uint64_t n;

        (void)snprintf(number, sizeof(number), "%.*s", (int)MIN(len, (size_t)23), at);
        if (parse_u64(number, 1, 65536, &n) < 0 ||
            json_array_append_new(list, json_integer((json_int_t)n)) < 0) {
            json_decref(list);
            return usage_error("topograph: --%s: %s is no list of numbers from 1 to 65536", r->name,
                               text);
        }
        at += len + (at[len] == ',');
    }
    return set_param(o, r, list);
}

static int read_document(const char *option, const char *path, json_t **ret)
{
    _cleanup_free_ char *text = NULL;
    struct err err = { .text = "" };
    size_t len;
    int r = readfile(path, DOCUMENT_MAX, &text, &len);

    if (r < 0)
        return say_error("topograph: --%s: cannot read %s: %s", option, path, strerror(-r));
    return docjson_parse(text, len, ret, &err) < 0
               ? say_error("topograph: --%s: %s: %s", option, path, err.text)
               : STATUS_OK;
}

static int set_param_text(struct tgopts *o, const struct row *r, const char *text)
{
    json_t *value = json_string(text), *document = NULL;
    uint64_t n;

    switch (r->kind) {
    case K_NAME:
        json_decref(value);
        return set_name(o, r, text);
    case K_TEXTS:
        json_decref(value);
        return add_text(o, r, text);
    case K_TEXT:
        return value ? set_param(o, r, value) : usage_error("topograph: --%s: no UTF-8", r->name);
    case K_SIZES:
        json_decref(value);
        return set_sizes(o, r, text);
    case K_COUNT:
        json_decref(value);
        if (parse_u64(text, 0, 1000000, &n) < 0)
            return usage_error("topograph: --%s: %s is no number", r->name, text);
        return set_param(o, r, json_integer((json_int_t)n));
    case K_OBJECT:
        json_decref(value);
        return read_document(r->name, text, &document) == STATUS_OK ? set_param(o, r, document)
                                                                    : STATUS_FAILED;
    default:
        json_decref(value);
        return set_param(o, r, json_true());
    }
}

/* ---- options of our own ---------------------------------------------------------------------- */

static int set_nodes(struct tgopts *o, const char *list)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    json_t *instances = json_object();

    if (hostlist_parse_most(list, GRAPH_NODES_MAX, &hl, &err) < 0) {
        json_decref(instances);
        return usage_error("topograph: --nodes: %s", err.text);
    }
    for (size_t i = 0; i < hostlist_count(hl); i++)
        if (json_object_set_new(instances, hostlist_nth(hl, i), json_string(hostlist_nth(hl, i))) <
            0)
            return usage_error("topograph: --nodes: no UTF-8");
    return json_object_set_new(o->request, "nodes", json_pack("[{s:o}]", "instances", instances)) ==
                   0
               ? STATUS_OK
               : say_nomem();
}

static int set_seconds(const char *option, const char *text, uint64_t least, uint64_t *ret)
{
    return parse_u64(text, least, 86400, ret) < 0
               ? usage_error("topograph: --%s: %s is no number of seconds from %llu to 86400",
                             option, text, (unsigned long long)least)
               : STATUS_OK;
}

static int set_own(struct tgopts *o, const struct row *r, const char *text)
{
    json_t *document = NULL;

    if (strcmp(r->name, "nodes") == 0)
        return set_nodes(o, text);
    if (strcmp(r->name, "instances") == 0)
        return read_document(r->name, text, &document) != STATUS_OK      ? STATUS_FAILED
               : json_object_set_new(o->request, "nodes", document) == 0 ? STATUS_OK
                                                                         : say_nomem();
    if (strcmp(r->name, "apply") == 0)
        o->apply = true;
    else if (strcmp(r->name, "output") == 0)
        o->output = text;
    else if (strcmp(r->name, "config") == 0)
        o->config = text;
    else if (strcmp(r->name, "listen") == 0)
        o->listen = text;
    else if (strcmp(r->name, "data") == 0)
        o->data = text;
    else if (strcmp(r->name, "watch") == 0)
        return (o->watch = true), set_seconds(r->name, text, 1, &o->every_s);
    else
        return (o->has_delay = true), set_seconds(r->name, text, 0, &o->delay_s);
    return STATUS_OK;
}

static int set_row(struct tgopts *o, const struct row *r, const char *text)
{
    if (r->metavar && !*text)
        return usage_error("topograph: --%s needs a value", r->name);
    return r->part == O_OWN ? set_own(o, r, text) : set_param_text(o, r, text);
}

/* Cliques are nvidia-smi's unless something else is said; models are named by another key. */
static int fill_gaps(struct tgopts *o)
{
    json_t *provider = json_object_get(o->request, "provider");
    json_t *params = json_object_get(provider, "params"), *at;
    const char *name = json_string_value(json_object_get(provider, "name"));
    size_t len = name ? strlen(name) : 0;

    if (json_object_get(params, "acceleratorFile") ||
        json_object_get(params, "acceleratorCommand")) {
        at = object_at(params, "accelerator");
        if (!at || (!json_object_get(at, "source") &&
                    json_object_set_new(at, "source", json_string("nvidia-smi")) < 0))
            return say_nomem();
    }
    if (name && (strcmp(name, "model") == 0 || strcmp(name, "test") == 0 ||
                 (len > 4 && strcmp(name + len - 4, "-sim") == 0))) {
        at = json_object_get(params, "file");
        if (at && (json_object_set(params, "modelFileName", at) < 0 ||
                   json_object_del(params, "file") < 0))
            return say_nomem();
    }
    return STATUS_OK;
}

static int check_together(const struct tgopts *o)
{
    if (o->serve && o->watch)
        return usage_error("topograph: serve answers requests: --watch is for generate");
    if (!o->serve && (o->config || o->listen || o->data || o->has_delay))
        return usage_error("topograph: --config, --listen, --data and --delay are for serve");
    return STATUS_OK;
}

static int parse_word(int argc, char **argv, struct tgopts *o)
{
    const char *word = optind < argc ? argv[optind] : "";

    o->serve = strcmp(word, "serve") == 0;
    if (!o->serve && strcmp(word, "generate") != 0)
        return usage_error("topograph needs generate or serve");
    if (optind + 1 < argc)
        return usage_error("topograph: unexpected argument: %s", argv[optind + 1]);
    return fill_gaps(o) == STATUS_OK ? check_together(o) : STATUS_FAILED;
}

int tgopts_parse(int argc, char **argv, struct tgopts *ret)
{
    struct option longs[ARRAY_SIZE(rows) + 2] = { 0 };
    char shorts[ARRAY_SIZE(rows) * 2 + 2] = "h", *s = shorts + 1;
    struct tgopts o = { .listen = NULL, .request = json_object(), .delay_s = 15 };
    int c, r = o.request ? STATUS_OK : say_nomem();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        longs[i] = (struct option){ rows[i].name, rows[i].metavar ? required_argument : no_argument,
                                    NULL, (int)i + 256 };
        if (rows[i].letter) {
            *s++ = rows[i].letter;
            if (rows[i].metavar)
                *s++ = ':';
        }
    }
    *s = '\0';
    longs[ARRAY_SIZE(rows)] = (struct option){ "help", no_argument, NULL, 'h' };
    while (r == STATUS_OK && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        size_t i = (size_t)c - 256;

        if (c == 'h')
            r = print_help();
        else if (c == '?')
            r = bad_option();
        for (i = c < 256 ? 0 : i; c != 'h' && c != '?' && c < 256 && rows[i].letter != c; i++)
            ;
        if (c != 'h' && c != '?')
            r = set_row(&o, &rows[i], optarg);
    }
    if (r == STATUS_OK)
        r = parse_word(argc, argv, &o);
    if (r != STATUS_OK)
        json_decref(o.request);
    else
        *ret = o;
    return r;
}
