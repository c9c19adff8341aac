// cpp-httplib as Debian builds it (libcpp-httplib.pc): the library's classes have other layouts without these macros, so
// every file that needs httplib includes this header instead, and only .cc files do (it is heavy).
#pragma once

#ifdef CPPHTTPLIB_HTTPLIB_H
#error "include base/httplib.h instead of <httplib.h>"
#endif

#ifndef CPPHTTPLIB_OPENSSL_SUPPORT
#define CPPHTTPLIB_OPENSSL_SUPPORT
#endif
#ifndef CPPHTTPLIB_ZLIB_SUPPORT
#define CPPHTTPLIB_ZLIB_SUPPORT
#endif
#ifndef CPPHTTPLIB_BROTLI_SUPPORT
#define CPPHTTPLIB_BROTLI_SUPPORT
#endif

#include <httplib.h>
