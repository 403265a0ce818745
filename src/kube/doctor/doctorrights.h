/* doctorrights.h - what the operator must be allowed to do
 *
 * The rows are those of deploy/kubernetes/operator.yaml; tests/integration/kube/test_kube_doctor.py
 * holds both together.  Constant data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct doctorright {
    const char *group;     /* "own": of the two groups of opkinds.h, those that the server has */
    const char *resources; /* with commas; "pods/status" names a sub-resource */
    const char *verbs;     /* with commas */
    bool operators_own;    /* in the operator's own namespace alone */
};

extern const struct doctorright doctorrights[];
extern const size_t doctorrights_count;

/* The n-th word of a list with commas; false: there is none.  buf has 64 bytes. */
bool doctorrights_word(const char *list, size_t n, char *buf);
