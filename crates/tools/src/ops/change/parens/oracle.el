;;; oracle.el --- What Emacs itself says of texts  -*- lexical-binding: t -*-
;; Reads a JSON list of texts from the file that is named last, and prints a JSON list of pairs: what
;; the Lisp reader says, and what `check-parens' says.
(require 'json)

(defun oracle-read (text)
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (let ((start (point)))
      (condition-case problem
          (while t
            (setq start (point))
            (read (current-buffer)))
        (end-of-file
         (goto-char start)
         (if (looking-at "\\(?:[\0-\s\u00a0]\\|;.*\\|#!.*\\)*\\'") "balanced" "unbalanced"))
        (invalid-read-syntax
         (if (member (cadr problem) '(")" "]" "] in a list" ") in a vector")) "unbalanced" "other"))
        (error "other")))))

(defun oracle-check (text)
  (with-temp-buffer
    (insert text)
    (delay-mode-hooks (emacs-lisp-mode))
    (condition-case nil
        (let ((inhibit-message t))
          (check-parens)
          "balanced")
      (error "unbalanced"))))

(let* ((json-array-type 'list)
       (texts (json-read-file (car (last command-line-args)))))
  (princ (json-encode (vconcat (mapcar (lambda (text) (vector (oracle-read text) (oracle-check text)))
                                       texts)))))
