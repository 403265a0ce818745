/* test_emnode.c - emulated nodes without a controller: they dial in turns, and end when told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/emnode.h"

#define NODES 300u

struct cluster {
    struct emhost host;
    uv_loop_t loop;
    struct conf *conf;
    struct emnode *nodes[NODES];
    unsigned changes;
};

static struct conf *make_conf(void)
{
    char path[] = "/tmp/penstock-emnode-XXXXXX";
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    FILE *f = fdopen(mkstemp(path), "w");

    assert_non_null(f);
    (void)fprintf(f,
                  "ClusterName=t\nSlurmctldHost=h(127.0.0.1)\nSlurmctldPort=1\nSlurmUser=root\n"
                  "NodeName=e[1-%u] NodeHostname=h NodeAddr=127.0.0.1 Port=[40000-%u] CPUs=4\n",
                  NODES, 39999 + NODES);
    assert_int_equal(fclose(f), 0);
    if (conf_load(path, CONF_FULL, &conf, NULL, &err) < 0)
        fail_msg("%s", err.text);
    (void)unlink(path);
    return conf;
}

static void count_change(struct emhost *host)
{
    container_of(host, struct cluster, host)->changes++;
}

static void test_nodes_dial_in_turns(void **state)
{
    struct cluster *c = calloc(1, sizeof(*c));

    (void)state;
    assert_non_null(c);
    assert_int_equal(uv_loop_init(&c->loop), 0);
    c->conf = make_conf();
    c->host = (struct emhost){ .loop = &c->loop, .conf = c->conf, .changed = count_change };
    emhost_init(&c->host);
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(emnode_new(&c->host, conf_node(c->conf, i), &c->nodes[i]), 0);
        emnode_start(c->nodes[i]);
    }
    assert_int_equal(c->host.n_left, NODES);
    assert_int_equal(c->host.n_dialing, 256);
    emnode_close(c->nodes[0]);
    emnode_close(c->nodes[0]); /* once is enough */
    assert_int_equal(c->host.n_left, NODES - 1);
    assert_int_equal(c->host.n_dialing, 256); /* the next has taken the turn */
    for (size_t i = 0; i < NODES; i++)
        emnode_close(c->nodes[i]);
    assert_int_equal(c->host.n_left, 0);
    assert_int_equal(c->host.n_dialing, 0);
    assert_int_equal(c->host.n_registered, 0);
    assert_int_equal(c->changes, NODES);
    assert_int_equal(uv_run(&c->loop, UV_RUN_DEFAULT), 0);
    for (size_t i = 0; i < NODES; i++)
        assert_null(emnode_free(c->nodes[i]));
    assert_int_equal(uv_loop_close(&c->loop), 0);
    conf_free(c->conf);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_nodes_dial_in_turns) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
