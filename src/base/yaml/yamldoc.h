/* yamldoc.h - the first document of a YAML text, as libyaml's tree
 *
 * A library of its own (base_yaml), so that commands which read no YAML do not load libyaml.
 * Thread-safe. */
#pragma once

#include <stddef.h>
#include <yaml.h>

/* What is wrong with a text. */
struct yamldoc_fault {
    size_t line;     /* from 1 */
    const char *why; /* libyaml's words; static */
};

/* The caller ends *ret with yaml_document_delete().  An empty text is a document without a root.
 * Errors: -EINVAL (fault), -ENOMEM. */
int yamldoc_load(const char *text, size_t len, yaml_document_t *ret, struct yamldoc_fault *fault);
