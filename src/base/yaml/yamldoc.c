/* yamldoc.c - see yamldoc.h */
#include "base/yaml/yamldoc.h"

#include <errno.h>

int yamldoc_load(const char *text, size_t len, yaml_document_t *ret, struct yamldoc_fault *fault)
{
    yaml_parser_t parser;
    int r = 0;

    if (!yaml_parser_initialize(&parser))
        return -ENOMEM;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    if (!yaml_parser_load(&parser, ret)) {
        r = parser.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL;
        *fault =
            (struct yamldoc_fault){ parser.problem_mark.line + 1,
                                    parser.problem ? parser.problem : "the text cannot be read" };
    }
    yaml_parser_delete(&parser);
    return r;
}
