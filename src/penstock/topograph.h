/* topograph.h - penstock topograph generate, and the door to its service (tgservice.h) */
#pragma once

int cmd_topograph(int argc, char **argv);
