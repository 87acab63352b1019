// TlsOptions: the certificates of a Server, and whose it takes. Plain values.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "http/tls/held_certificate.hpp"

namespace muster::http {

// Certificates of a server. TLS 1.2 or newer; no renegotiation, no session resumption (a resumed
// session would survive a change of the client CA).
struct TlsOptions {
  std::string cert_file = {};  // PEM, leaf first, then intermediates
  std::string key_file = {};   // PEM
  // In place of these two files, and looked at as often.
  std::shared_ptr<const HeldCertificate> held = nullptr;
  std::string client_ca_file = {};  // PEM bundle; empty = client certificates are not asked for
  bool require_client_cert = true;  // only with client_ca_file
  std::vector<std::string>
      allowed_clients;  // CN or DNS names, compared exactly; empty = all that the CA signed
  // The files are looked at this often; a changed set replaces the old one for new connections.
  std::chrono::milliseconds reload_interval{2000};
};

}  // namespace muster::http
