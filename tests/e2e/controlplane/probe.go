package controlplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
)

// A kube-scheduler's serving certificate is its own; who answers on a port that was just free is no secret.
var probeClient = &http.Client{
	Timeout:   probeTimeout,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
}

func schedulerReady(ctx context.Context, port int) error {
	for _, path := range []string{"readyz", "healthz"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/%s", port, path), nil)
		if err != nil {
			return err
		}
		response, err := probeClient.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("kube-scheduler's /%s says %s", path, response.Status)
		}
	}
	return nil
}
