/* peer_json.h - answers of peer_util.h as JSON, see json_util.h; needs base_json_dep */
#pragma once

#include "json_util.h"
#include "peer_util.h"

/* The next request gets this reply. */
UTIL void peer_answer_json(struct peer *p, unsigned op, const ProtobufCMessageDescriptor *desc,
                           const char *json)
{
    ProtobufCMessage *reply = from_json(desc, json);

    peer_answer(p, op, reply);
    protobuf_c_message_free_unpacked(reply, NULL);
}

/* ... a stream of these records; NULL ends them. */
UTIL void peer_list_json(struct peer *p, unsigned op, const ProtobufCMessageDescriptor *desc,
                         const char *const *json)
{
    ProtobufCMessage *list[32] = { NULL };
    size_t n = 0;

    for (; json[n]; n++) {
        assert_true(n < sizeof(list) / sizeof(list[0]));
        list[n] = from_json(desc, json[n]);
    }
    peer_list(p, op, list, n);
    for (size_t i = 0; i < n; i++)
        protobuf_c_message_free_unpacked(list[i], NULL);
}

#define PEER_LIST(p, op, name, ...)                                                                \
    peer_list_json((p), (op), &pst__##name##__descriptor,                                          \
                   (const char *const[]){ __VA_ARGS__, NULL })
#define PEER_ANSWER(p, op, name, json)                                                             \
    peer_answer_json((p), (op), &pst__##name##__descriptor, (json))
