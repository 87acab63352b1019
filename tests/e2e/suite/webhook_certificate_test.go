package suite

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

// webhookTrust is what the Secret of the webhook's certificate holds, and what the API server trusts for it.
type webhookTrust struct {
	certificate, authorities []byte
	bundles                  [][]byte
}

func (e *env) keptForWebhook() (webhookTrust, error) {
	secret, err := e.Client.CoreV1().Secrets(muster.Namespace).Get(e.ctx, "muster-webhook", metav1.GetOptions{})
	if err != nil {
		return webhookTrust{}, err
	}
	k := webhookTrust{certificate: secret.Data["tls.crt"], authorities: secret.Data["ca.crt"]}
	configuration, err := e.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(e.ctx, "muster-schedule", metav1.GetOptions{})
	if err != nil {
		return webhookTrust{}, err
	}
	for _, webhook := range configuration.Webhooks {
		k.bundles = append(k.bundles, webhook.ClientConfig.CABundle)
	}
	return k, nil
}

// trusted waits until the API server is to trust what the Secret holds, and takes pods by it.
func (e *env) trusted(how string, check func(webhookTrust) error) webhookTrust {
	e.t.Helper()
	var now webhookTrust
	e.eventually(60*time.Second, how, func() (err error) {
		if now, err = e.keptForWebhook(); err != nil {
			return err
		}
		if len(now.certificate) == 0 || len(now.authorities) == 0 || len(now.bundles) == 0 {
			return errorf("the Secret holds %d and %d bytes, and there are %d webhooks", len(now.certificate), len(now.authorities), len(now.bundles))
		}
		for i, bundle := range now.bundles {
			if !bytes.Equal(bundle, now.authorities) {
				return errorf("caBundle %d is not what the Secret holds", i)
			}
		}
		return check(now)
	})
	e.scheduleLabel("gpu") // returns when pods are taken
	return now
}

const certificatesDocument = "docs/how-to/certificates.md"

// commandOfCertificates is the one command of the document that begins so.
func commandOfCertificates(t *testing.T, begins string) []string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, certificatesDocument))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("`kubectl ("+regexp.QuoteMeta(begins)+"[^`]*)`").FindAllStringSubmatch(string(text), -1)
	if len(found) != 1 {
		t.Fatalf("%s has %d commands that begin with %q", certificatesDocument, len(found), begins)
	}
	return strings.Fields(strings.ReplaceAll(found[0][1], "'", ""))
}

func TestTheCertificateOfTheWebhookIsMadeAnewWhenItsSecretIsEmptied(t *testing.T) {
	slow(t)
	e := taking(t, true)
	anything := func(webhookTrust) error { return nil }
	e.scheduleLabel("gpu")
	before := e.trusted("the webhook has a certificate", anything)

	_, err := e.Kubectl(e.ctx, "", commandOfCertificates(t, "-n muster-system patch secret muster-webhook ")...)
	e.must(err)
	after := e.trusted("it has another one, and caBundle another authority", func(now webhookTrust) error {
		if bytes.Equal(now.certificate, before.certificate) || bytes.Contains(now.authorities, before.authorities) {
			return errorf("it is the one from before")
		}
		return nil
	})
	e.addGPUNodes(2)
	e.plainJobBy(objects.Default, "train", 4)
	e.jobHas("train", 4, 4)

	// Somebody takes away whom the API server trusts: the certificate stays.
	_, err = e.Kubectl(e.ctx, "", "patch", "mutatingwebhookconfiguration", "muster-schedule", "--type=json",
		`--patch=[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
	e.must(err)
	e.trusted("caBundle is put back", func(now webhookTrust) error {
		if !bytes.Equal(now.certificate, after.certificate) {
			return errorf("the certificate is another one")
		}
		return nil
	})
}
