;;; journeyman-dispatch.el --- Tool calls without a model  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools

;;; Commentary:

;; One call as JSON in, one result out, through `jm exec': checked, approved by the same rules, journaled.
;; `journeyman-dispatch' is for Lisp; `journeyman-dispatch-block' runs the `tool-call' block at point, of any
;; model in any buffer, and puts the `tool-result' block behind it.

;;; Code:

(require 'cl-lib)
(require 'journeyman-acp)
(require 'journeyman-base)

(defcustom journeyman-dispatch-arguments '("--toolset" "forj")
  "Flags of `jm exec': toolset and approval."
  :type '(repeat string)
  :group 'journeyman)

(defun journeyman-dispatch-error (id name text &rest recovery)
  "A failed result for the call ID of NAME with TEXT and hints for RECOVERY."
  `((id . ,(or id :null)) (name . ,(or name :null)) (ok . :false)
    (error . ((type . "validation-error") (message . ,text) (recovery . ,(vconcat recovery))))))

(defun journeyman-dispatch (json done)
  "Run the call in the text JSON below `default-directory'.
DONE gets the result as an alist with id, name, ok, and result or error.  It is
called at once if JSON is not a call."
  (let ((call (condition-case problem (journeyman-acp-read json)
                (error (list :malformed (error-message-string problem))))))
    (cond
     ((eq (car-safe call) :malformed)
      (funcall done (journeyman-dispatch-error nil nil (concat "The call is not JSON: " (cadr call))
                                               "Send one JSON object")))
     ((not (and (consp call) (stringp (alist-get 'name call))))
      (funcall done (journeyman-dispatch-error (and (consp call) (alist-get 'id call)) nil
                                               "The call has no name" "Name a tool")))
     (t (journeyman-dispatch--run call done)))
    nil))

(defun journeyman-dispatch--run (call done)
  "Run CALL, and give its result to DONE."
  (let ((id (alist-get 'id call)) (name (alist-get 'name call)) (result nil))
    (unless id (push '(id . "1") call))
    (journeyman-base-start
     "jm-exec" (append journeyman-dispatch-arguments '("exec"))
     (lambda (line)
       (when (string-prefix-p "{" line)
         (setq result (ignore-errors (journeyman-acp-read line)))))
     (lambda (code said)
       (funcall done (or result
                         (journeyman-dispatch-error
                          id name (if (string-empty-p said) (format "jm ended with exit code %s" code) said)))))
     (concat "```tool-call\n" (journeyman-acp-write call) "\n```\n"))))

(defun journeyman-dispatch--block ()
  "The `tool-call' block around point as (TEXT . END), or nil."
  (save-excursion
    (end-of-line)
    (when (re-search-backward "^```tool-call[ \t]*\n" nil t)
      (let ((start (match-end 0)) (place (point)))
        (goto-char start)
        (when (re-search-forward "^```[ \t]*$" nil t)
          (and (<= place (point))
               (cons (buffer-substring-no-properties start (match-beginning 0)) (point))))))))

;;;###autoload
(defun journeyman-dispatch-block ()
  "Run the `tool-call' block at point, and insert its result after it."
  (interactive)
  (pcase (journeyman-dispatch--block)
    ('nil (user-error "No tool-call block here"))
    (`(,text . ,end)
     (let ((place (copy-marker end t)) (buffer (current-buffer)))
       (journeyman-dispatch
        text
        (lambda (result)
          (when (buffer-live-p buffer)
            (with-current-buffer buffer
              (save-excursion
                (goto-char place)
                (let ((inhibit-read-only t))
                  (insert "\n\n```tool-result\n" (journeyman-acp-write result) "\n```"))))
            (journeyman-base-reread))))))))

(provide 'journeyman-dispatch)
;;; journeyman-dispatch.el ends here
