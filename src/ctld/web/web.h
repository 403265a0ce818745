/* web.h - what the controller answers to HTTP: health and metrics */
#pragma once

#include "http/httphealth.h"

/* Ended by a row without path; the functions want the service's object, which nobody else has. */
extern const struct http_path web_paths[];
