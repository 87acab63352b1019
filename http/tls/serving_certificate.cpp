#include "http/tls/serving_certificate.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>
#include <memory>
#include <optional>

#include "http/messages/message.hpp"
#include "http/tls/tls.hpp"

namespace muster::http {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

struct FreeMade {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
};
template <typename T>
using Made = std::unique_ptr<T, FreeMade>;

constexpr int kSerialBits = 127;  // positive, and at most 20 bytes
constexpr long kVersion3 = 2;
constexpr std::size_t kMaxHost = 253;

Error Refused(const std::string& what) {
  return {Code::kInternal, "OpenSSL cannot make " + what + TlsDetail(), ""};
}

using AddressBytes = std::array<unsigned char, sizeof(in6_addr)>;

std::string AddressText(int family, const unsigned char* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, bytes, text.data(), text.size()) == nullptr ? "" : text.data();
}

// As inet_ntop writes it; empty: it is no IP address.
std::string IpAddressOf(const std::string& host) {
  AddressBytes bytes{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, host.c_str(), bytes.data()) == 1)
      return AddressText(family, bytes.data());
  }
  return {};
}

bool IsDnsName(const std::string& host) {
  return !host.empty() && host.size() <= kMaxHost &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.';
         });
}

// As OpenSSL's configuration writes subjectAltName; nothing: a host is no name.
std::optional<std::string> AlternativeNames(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) {
    const bool address = !IpAddressOf(host).empty();
    if (!address && !IsDnsName(host)) return std::nullopt;
    names +=
        (names.empty() ? "" : ",") + std::string(address ? "IP:" : "DNS:") + CanonicalHost(host);
  }
  return names.empty() ? std::nullopt : std::optional(names);
}

bool SetSerial(X509* certificate) {
  const Made<BIGNUM> number(BN_new());
  return number != nullptr &&
         BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetName(X509_NAME* to, const std::string& common_name) {
  const std::vector<unsigned char> bytes(common_name.begin(), common_name.end());
  return X509_NAME_add_entry_by_NID(to, NID_commonName, MBSTRING_UTF8, bytes.data(),
                                    static_cast<int>(bytes.size()), -1, 0) == 1;
}

Made<X509> Begin(const CertificateOrder& order, EVP_PKEY* key, const std::string& common_name) {
  Made<X509> made(X509_new());
  const bool ok =
      made != nullptr && X509_set_version(made.get(), kVersion3) == 1 && SetSerial(made.get()) &&
      ASN1_TIME_set(X509_getm_notBefore(made.get()), order.not_before.time_since_epoch().count()) !=
          nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(made.get()), order.not_after.time_since_epoch().count()) !=
          nullptr &&
      X509_set_pubkey(made.get(), key) == 1 &&
      SetName(X509_get_subject_name(made.get()), common_name);
  return ok ? std::move(made) : nullptr;
}

bool Extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Made<X509_EXTENSION> made(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return made != nullptr && X509_add_ext(certificate, made.get(), -1) == 1;
}

Made<X509> MakeAuthority(const CertificateOrder& order, EVP_PKEY* key) {
  Made<X509> made = Begin(order, key, order.authority);
  if (made == nullptr) return nullptr;
  X509* self = made.get();
  const bool ok = X509_set_issuer_name(self, X509_get_subject_name(self)) == 1 &&
                  Extend(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                  Extend(self, self, NID_key_usage, "critical,keyCertSign") &&
                  Extend(self, self, NID_subject_key_identifier, "hash") &&
                  X509_sign(self, key, EVP_sha256()) > 0;
  return ok ? std::move(made) : nullptr;
}

Made<X509> MakeLeaf(const CertificateOrder& order, EVP_PKEY* key, X509* authority,
                    EVP_PKEY* authority_key, const std::string& names) {
  Made<X509> made = Begin(order, key, order.authority + " server");
  if (made == nullptr) return nullptr;
  X509* self = made.get();
  const bool ok = X509_set_issuer_name(self, X509_get_subject_name(authority)) == 1 &&
                  Extend(self, authority, NID_basic_constraints, "critical,CA:FALSE") &&
                  Extend(self, authority, NID_key_usage, "critical,digitalSignature") &&
                  Extend(self, authority, NID_ext_key_usage, "serverAuth") &&
                  Extend(self, authority, NID_authority_key_identifier, "keyid:always") &&
                  Extend(self, authority, NID_subject_alt_name, names) &&
                  X509_sign(self, authority_key, EVP_sha256()) > 0;
  return ok ? std::move(made) : nullptr;
}

template <typename Write>
std::string PemOf(Write write) {
  const Made<BIO> out(BIO_new(BIO_s_mem()));
  if (out == nullptr || write(out.get()) != 1) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  for (int got = 0; (got = BIO_read(out.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

std::string PemOf(X509* certificate) {
  return PemOf([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

std::optional<std::chrono::sys_seconds> TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

void AddAddress(const ASN1_OCTET_STRING* address, std::vector<std::string>& hosts) {
  const int length = ASN1_STRING_length(address);
  if (length != sizeof(in_addr) && length != sizeof(in6_addr)) return;
  const int family = length == sizeof(in_addr) ? AF_INET : AF_INET6;
  hosts.push_back(AddressText(family, ASN1_STRING_get0_data(address)));
}

std::vector<std::string> HostsOf(X509* certificate) {
  std::vector<std::string> hosts;
  const Made<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_IPADD) AddAddress(name->d.iPAddress, hosts);
    if (name->type != GEN_DNS) continue;
    const unsigned char* bytes = ASN1_STRING_get0_data(name->d.dNSName);
    hosts.emplace_back(bytes, bytes + ASN1_STRING_length(name->d.dNSName));
  }
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

}  // namespace

Result<ServingCertificate> MakeServingCertificate(const CertificateOrder& order) {
  const std::optional<std::string> names = AlternativeNames(order.hosts);
  if (!names) {
    return Error{Code::kInvalidArgument, "expected DNS names or IP addresses of the server",
                 "hosts"};
  }
  if (order.not_after <= order.not_before) {
    return Error{Code::kInvalidArgument, "expected a time after not_before", "not_after"};
  }
  const Made<EVP_PKEY> authority_key(EVP_EC_gen("P-256"));
  const Made<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (authority_key == nullptr || key == nullptr) return Refused("a key");
  const Made<X509> authority = MakeAuthority(order, authority_key.get());
  if (authority == nullptr) return Refused("an authority");
  const Made<X509> leaf = MakeLeaf(order, key.get(), authority.get(), authority_key.get(), *names);
  if (leaf == nullptr) return Refused("a certificate");
  ServingCertificate made;
  made.authority = PemOf(authority.get());
  made.pair.certificate = PemOf(leaf.get());
  made.pair.key = PemOf([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  if (made.authority.empty() || !Usable(made.pair)) return Refused("PEM texts");
  return made;
}

Result<CertificateTerm> ReadCertificateTerm(const std::string& pem) {
  const Error malformed{Code::kInvalidArgument, "expected a PEM certificate", ""};
  if (pem.size() > INT_MAX) return malformed;
  const Made<BIO> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Made<X509> certificate(
      in == nullptr ? nullptr : PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
  const std::string detail = TlsDetail();  // empties OpenSSL's queue
  if (certificate == nullptr) return malformed;
  const auto from = TimeOf(X509_get0_notBefore(certificate.get()));
  const auto until = TimeOf(X509_get0_notAfter(certificate.get()));
  if (!from || !until) return malformed;
  return CertificateTerm{*from, *until, HostsOf(certificate.get())};
}

std::string CanonicalHost(const std::string& host) {
  std::string address = IpAddressOf(host);
  return address.empty() ? LowerCase(host) : address;
}

bool Usable(const CertificatePair& pair) {
  const auto context = MakeTlsContext(TlsSide::kServer);
  const bool fits = context != nullptr && PresentCertificate(context.get(), pair.certificate,
                                                             pair.key) == PresentFault::kNone;
  static_cast<void>(TlsDetail());
  return fits;
}

std::vector<std::string> SplitCertificates(const std::string& pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> parts;
  for (std::size_t at = pem.find(kBegin); at != std::string::npos; at = pem.find(kBegin, at)) {
    const std::size_t end = pem.find(kEnd, at);
    if (end == std::string::npos) break;
    parts.push_back(pem.substr(at, end + kEnd.size() - at) + "\n");
    at = end;
  }
  return parts;
}

}  // namespace muster::http
