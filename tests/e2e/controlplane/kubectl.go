package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kubectl runs kubectl as an administrator and returns what it prints.
func (cp *ControlPlane) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	path, err := Program(cp.Options.Version, "kubectl")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, append([]string{"--kubeconfig=" + cp.Kubeconfig}, args...)...)
	// What kubectl remembers of an API server must not be taken for true about the next one on its port.
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+cp.file("kubectl-cache"))
	cmd.Stdin = strings.NewReader(input)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s%s", strings.Join(args, " "), err, out.String(), log.String())
	}
	return out.String(), nil
}

// Token asks for a token of a service account, as a pod of it would get it.
func (cp *ControlPlane) Token(ctx context.Context, namespace, account string) (string, error) {
	lifetime := int64((12 * time.Hour).Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &lifetime}}
	var token string
	err := poll(ctx, func() error {
		answer, err := cp.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
		if err == nil {
			token = answer.Status.Token
		}
		return err
	})
	return token, err
}
